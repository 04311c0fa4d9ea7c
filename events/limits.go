package events

// Limits are finite allowances of every metered resource (C3-RUN-004.a). Zero
// means no allowance, never "unlimited".
type Limits struct {
	Attempts         int64  `json:"attempts"`           // candidates taken up
	Revisions        int64  `json:"revisions"`          // admitted revisions
	ElapsedMillis    int64  `json:"elapsed_millis"`     // from sealing to conclusion
	InputTokens      int64  `json:"input_tokens"`       // of models
	OutputTokens     int64  `json:"output_tokens"`      // of models
	CostMicros       int64  `json:"cost_micros"`        // millionths of CostUnit
	CostUnit         string `json:"cost_unit"`          // the named billing unit, such as "usd"
	CheckSteps       int64  `json:"check_steps"`        // steps of proof and requirement checks
	CheckMemoryBytes int64  `json:"check_memory_bytes"` // memory of these checks
	ArtifactBytes    int64  `json:"artifact_bytes"`     // results kept
	ContextBytes     int64  `json:"context_bytes"`      // context given to models
	Actions          int64  `json:"actions"`            // capability dispatches
}

// Heads are chain heads by owner, as far as the writer knew them.
type Heads map[Owner]Head

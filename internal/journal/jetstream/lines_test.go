package jetstream

import "testing"

func TestLineKey(t *testing.T) {
	for subject, want := range map[string]string{
		"mandate.v1.admission.07.default.RUN":                    "mandate.v1.admission.",
		"$JS.ACK.MANDATE_ADMISSION.executor-p00-31.1.2.3.4567.0": "$JS.ACK.MANDATE_ADMISSION.executor-p00-31.",
		"$KV.mandate_keys.default.run-RUN":                       "$KV.mandate_keys.",
		"timer.sched.admission.07.default.RUN.approval":          "timer.sched.",
		"blob.0123": "blob.0123",
		"":          "",
	} {
		if got := lineKey(subject); got != want {
			t.Errorf("lineKey(%q) = %q, want %q", subject, got, want)
		}
	}
}

package bounded

import (
	"bytes"

	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/document"
	"example.org/mandate/services/executor/internal/bounded/record"
	"example.org/mandate/services/executor/internal/bounded/wire"
)

// invocation is a call of a tool that was authorized.
type invocation struct {
	chosen    *route
	action    *document.Action
	tool      *document.Tool
	arguments []byte
	callID    string
	envelope  uint64 // bytes of the result around the tool's object
	limits    sinkLimits
}

// call authorizes a tool action, invokes the tool, which is never tried again, and keeps its result.
func (r *run) call(chosen *route, action *document.Action) error {
	call, err := r.authorize(chosen, action)
	if err != nil {
		return err
	}
	if err := r.admitCall(call); err != nil {
		return err
	}
	sink := &ToolSink{sink{open: true, guard: r.guard, probe: r.host.Probe(), limits: call.limits}}
	remaining, err := r.remaining()
	if err != nil {
		return err
	}
	invoked := r.invoke(ToolCall{CallID: call.callID, ToolID: call.tool.ToolID, Arguments: bytes.Clone(call.arguments)}, remaining, sink)
	sink.close()
	result, size, failure := r.settle(call, invoked, &sink.sink)
	finished := record.Event{
		Kind: record.ToolFinished, ToolID: call.tool.ToolID, Status: record.Failed, Delta: record.Delta{ResultBytes: size},
	}
	if failure != nil {
		switch status := record.StatusOf(diagnostic.Of(failure).Code); {
		case status == record.Cancelled, status == record.DeadlineExceeded, *diagnostic.Of(failure) == *diagnostic.Of(revoked()):
			finished.Status = status
		}
		r.push(r.event(chosen, finished))
		return failure
	}
	finished.Status, finished.OutputDigest = record.Succeeded, wire.Digest(wire.DomainToolResult, result)
	r.push(r.event(chosen, finished))
	r.history = append(r.history, document.Turn{Action: action.Source, Result: result})
	r.trace.Usage.RetainedStateBytes = r.retained()
	return nil
}

func revoked() error { return diagnostic.Unauthorized(diagnostic.PolicyRevoked) }

// invoke crosses the boundary to the tool.
func (r *run) invoke(call ToolCall, remaining uint64, sink *ToolSink) bool {
	r.crossed = true
	if host, ok := r.host.(DeadlineHost); ok {
		return host.InvokeToolWithDeadline(call, remaining, sink)
	}
	return r.host.InvokeTool(call, sink)
}

// authorize checks a tool action against the admitted catalog and policy, and against what is left of the budgets.
func (r *run) authorize(chosen *route, action *document.Action) (*invocation, error) {
	tool := r.profile.Tool(action.ToolID)
	switch {
	case tool == nil:
		return nil, diagnostic.Unauthorized(diagnostic.UnknownTool)
	case !r.profile.Allows(tool):
		return nil, diagnostic.Unauthorized(diagnostic.ToolNotAllowed)
	case !tool.Reads() || !r.profile.Granted(tool):
		return nil, diagnostic.Unauthorized(diagnostic.CapabilityMissing)
	}
	arguments := wire.NewWriter(wire.StyleInput)
	if !tool.Arguments.Fit(action.Arguments, arguments) {
		return nil, diagnostic.Unauthorized(diagnostic.ArgumentsMismatch)
	}
	u, l := &r.trace.Usage, r.limits
	size := arguments.Size()
	if size > l.ToolArgumentBytes {
		return nil, diagnostic.Bound(document.FieldToolArgumentBytes, l.ToolArgumentBytes)
	}
	if _, err := (total{document.FieldToolCalls, u.ToolCalls, l.ToolCalls}).plus(1); err != nil {
		return nil, err
	}
	used, err := total{document.FieldTotalToolBytes, u.ArgumentBytes + u.ResultBytes, l.TotalToolBytes}.plus(size)
	if err != nil {
		return nil, err
	}
	call := &invocation{
		chosen: chosen, action: action, tool: tool, arguments: arguments.Bytes(),
		callID: wire.CallID(wire.Call{RunID: r.trace.RunID, Turn: u.Turns, ToolID: tool.ToolID, Arguments: arguments.Bytes()}),
	}
	empty := wire.NewCounter(wire.StyleInput)
	(&document.Result{CallID: call.callID, ToolID: tool.ToolID, Value: []byte("{}")}).Write(empty)
	call.envelope = empty.Size() - uint64(len("{}"))
	if empty.Size() > l.ToolResultBytes {
		return nil, diagnostic.Bound(document.FieldToolResultBytes, l.ToolResultBytes)
	}
	call.limits = resultLimits(l, call.envelope, l.TotalToolBytes-used)
	// The arguments count as validated twice: for the authorization, and for the invocation.
	return call, r.builder.take(2*arguments.Quoted() + empty.Quoted() + copies(call.limits.bytes))
}

// resultLimits bound what a tool may return: its own result in its envelope, and what is left of all tools' bytes.
func resultLimits(l *document.Limits, envelope, left uint64) sinkLimits {
	limits := sinkLimits{
		bytes: l.ToolResultBytes - envelope, tooLong: diagnostic.Bound(document.FieldToolResultBytes, l.ToolResultBytes),
	}
	if most := left - min(left, envelope); most < limits.bytes {
		limits.bytes, limits.tooLong = most, diagnostic.Bound(document.FieldTotalToolBytes, l.TotalToolBytes)
	}
	return limits
}

// admitCall records that the action was accepted and the tool authorized, if there is room for that and for the end of
// the call.
func (r *run) admitCall(call *invocation) error {
	accepted := record.Event{Kind: record.ActionAccepted, ToolID: call.tool.ToolID, InputDigest: call.action.Digest, Status: record.AcceptedTool}
	authorized := r.event(call.chosen, record.Event{
		Kind: record.ToolAuthorized, ToolID: call.tool.ToolID, InputDigest: call.action.Digest, Status: record.Authorized,
		Delta: record.Delta{ArgumentBytes: uint64(len(call.arguments))},
	})
	finished := r.event(call.chosen, record.Event{
		Kind: record.ToolFinished, ToolID: call.tool.ToolID, OutputDigest: call.action.Digest, // as long as every digest
		Status: record.DeadlineExceeded, Delta: record.Delta{ResultBytes: r.limits.TotalToolBytes},
	})
	if err := r.room(record.Ending{Events: []record.Event{r.event(call.chosen, accepted), authorized, finished}}); err != nil {
		return err
	}
	r.accept(call.chosen, accepted)
	r.push(authorized)
	r.trace.Usage.ToolCalls++
	return nil
}

// settle says what came of an invocation: the result that a model is told, how many bytes it is charged, and a failure.
func (r *run) settle(call *invocation, invoked bool, s *sink) (result []byte, size uint64, failure error) {
	size = uint64(len(s.bytes))
	boundary := s.boundary
	if boundary == nil {
		boundary = r.boundary()
	}
	switch {
	case boundary != nil:
		return nil, size, boundary
	case s.rejection != nil:
		return nil, size, s.rejection
	case !invoked:
		return nil, size, diagnostic.Tool(diagnostic.InvocationFailed)
	}
	members, err := document.ParseResult(s.bytes)
	if err != nil {
		return nil, size, err
	}
	value := wire.NewWriter(wire.StyleInput)
	if !call.tool.Result.Fit(members, value) {
		return nil, size, diagnostic.Unauthorized(diagnostic.ResultMismatch)
	}
	w := wire.NewWriter(wire.StyleInput)
	(&document.Result{CallID: call.callID, ToolID: call.tool.ToolID, Value: value.Bytes()}).Write(w)
	if err := r.builder.take(value.Quoted() + w.Quoted()); err != nil {
		return nil, size, err
	}
	u, l := &r.trace.Usage, r.limits
	if w.Size() > l.ToolResultBytes {
		return nil, size, diagnostic.Bound(document.FieldToolResultBytes, l.ToolResultBytes)
	}
	if _, err := (total{document.FieldTotalToolBytes, u.ArgumentBytes + u.ResultBytes, l.TotalToolBytes}).plus(w.Size()); err != nil {
		return nil, size, err
	}
	if _, err := (total{document.FieldRetainedStateBytes, r.retained() + call.action.Size(), l.RetainedStateBytes}).plus(w.Size()); err != nil {
		return nil, w.Size(), err
	}
	return w.Bytes(), w.Size(), nil
}

// retained is how many bytes the task and the history have.
func (r *run) retained() uint64 {
	size := r.task.Size()
	for i := range r.history {
		size += uint64(len(r.history[i].Action) + len(r.history[i].Result))
	}
	return size
}

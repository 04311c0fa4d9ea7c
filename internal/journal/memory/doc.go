// Package memory is the journal in memory: for tests, and for simulations that
// put the services through schedules of faults chosen by a seed.
//
// Driven from one goroutine through [Journal.Next], [Journal.FireTimers] and
// the port's calls it is deterministic: the same seed and the same calls give
// the same results. Through [Journal.Consume] it delivers from goroutines, as
// a broker does.
package memory

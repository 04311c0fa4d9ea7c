// Package req ties tests to the requirements in docs/requirements.md. A test that decides a requirement calls
// [Covers]; [ReadTestJSON] and [NewReport] turn the output of `go test -json` into a list of requirements that are
// decided by tests that passed.
package req

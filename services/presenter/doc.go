// Package presenter says what is shown of a run: one final document, and
// whatever waits for a person before that.
//
// How a result is shown follows from its shape and its evidence, never from
// words in it or near it: what calls itself a test report is shown as one only
// where this system saw the tests run. The exact source of every result is
// kept beside what is made of it. Sentences are derived from verdicts and
// receipts, each with what it rests on.
//
// This package is pure: no I/O, no clock, no randomness, no goroutines, no
// logging. Package shell connects it to the streams.
package presenter

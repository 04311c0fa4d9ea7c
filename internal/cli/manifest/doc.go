// Package manifest reads the documents that people write, in YAML or JSON,
// strictly and with the line of every mistake.
//
// A document becomes JSON without a detour over Go numbers: what is written as
// a number is the number that is sent. Of YAML only the part is read that
// means one thing: no anchors, aliases, merges, tags, or numbers that JSON
// does not have.
package manifest

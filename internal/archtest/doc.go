// Package archtest holds the import rules of this repository as one table and checks every package against it in a
// test. A package that no row names fails, so that a new folder is a decision; so is every import that a row does not
// list.
package archtest

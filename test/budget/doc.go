// Package budget spends one allotment from many writers at once, through the
// real journals.
package budget

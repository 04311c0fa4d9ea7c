package jetstream

import "testing"

// FuzzParseFired checks that whatever is read as a fired timer is written back
// as it was.
func FuzzParseFired(f *testing.F) {
	f.Add("timer.fired.admission.05.t.r.wake")
	f.Add("timer.fired.admission.5.t.r.wake")
	f.Add("timer.fired.")
	f.Fuzz(func(t *testing.T, subject string) {
		run, name, err := parseFired(subject)
		if err == nil && timerSubject(firedPrefix, run, name) != subject {
			t.Errorf("%q reads as %v %q", subject, run, name)
		}
	})
}

package tau

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/internal/registry"
	"example.org/mandate/internal/req"
	"example.org/mandate/test/corpus/stage"
)

type fixture struct {
	*set
	views map[string]registry.View
}

func open(t *testing.T) fixture {
	t.Helper()
	dir, whole := stage.Data(t, "tau")
	s, err := load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if whole && len(s.tasks) < 102 {
		t.Fatalf("%d tasks", len(s.tasks))
	}
	f := fixture{s, map[string]registry.View{}}
	for _, one := range s.tasks {
		if _, done := f.views[one.Domain]; !done {
			if f.views[one.Domain], err = s.view(one.Domain); err != nil {
				t.Fatal(err)
			}
		}
	}
	return f
}

func (f fixture) play(t task) *play {
	return &play{view: f.views[t.Domain], prompt: string(t.Scenario), wanted: t.calls(), script: t.calls()}
}

// effective are the calls of a task up to the first write that fails: then the
// run ends.
func effective(t task) []action {
	var writes []action
	for _, a := range t.writes() {
		writes = append(writes, a)
		if a.Failed != nil {
			break
		}
	}
	return writes
}

func same(a, b []action) bool {
	return slices.EqualFunc(a, b, func(x, y action) bool {
		return x.Name == y.Name && bytes.Equal(stage.Canonical(x.Arguments), stage.Canonical(y.Arguments))
	})
}

// What the customer says yes to is done once, in order.
func TestGroundTruth(t *testing.T) {
	f := open(t)
	req.Covers(t, "IK-7.3", "OD-9.3.3")
	writes := 0
	for _, one := range f.tasks {
		if len(one.calls()) == 0 {
			continue
		}
		p := f.play(one)
		o, err := p.perform(t.Context())
		if err != nil {
			t.Errorf("%s: %v", one.ID, err)
			continue
		}
		want := effective(one)
		if !same(p.writes, want) || one.Confirm && (o.asked > 0) != (len(want) > 0) {
			t.Errorf("%s: %d writes of %d, asked %d times, %s", one.ID, len(p.writes), len(want), o.asked, o.tag)
		}
		writes += len(p.writes)
	}
	t.Logf("%d tasks, %d writes", len(f.tasks), writes)
}

// Without an answer nothing is written.
func TestWriteBeforeTheConfirmation(t *testing.T) {
	f := open(t)
	req.Covers(t, "OD-8.16", "IK-7.3")
	n := 0
	for _, one := range f.tasks {
		if !one.Confirm || len(one.writes()) == 0 {
			continue
		}
		p := f.play(one)
		p.silent = true
		o, err := p.perform(t.Context())
		if err != nil || len(p.writes) > 0 || o.asked == 0 || o.tag == events.TagCompleted {
			t.Errorf("%s: %d writes, asked %d times, %s, %v", one.ID, len(p.writes), o.asked, o.tag, err)
		}
		n++
	}
	if n == 0 {
		t.Error("no task")
	}
}

// Where nothing is to be written, a model that writes gets a no.
func TestWriteThatNobodyWants(t *testing.T) {
	f := open(t)
	req.Covers(t, "OD-11.7", "OD-4.4.13")
	n := 0
	for _, one := range f.tasks {
		if !one.NoWrite {
			continue
		}
		for _, other := range f.tasks {
			if other.Domain != one.Domain || len(other.writes()) == 0 {
				continue
			}
			p := f.play(one)
			p.script = append(slices.Clip(p.script), other.writes()[0])
			o, err := p.perform(t.Context())
			if err != nil || len(p.writes) > 0 || o.asked == 0 || !o.denied || o.tag == events.TagCompleted {
				t.Errorf("%s: %d writes, asked %d times, denied %v, %s, %v", one.ID, len(p.writes), o.asked, o.denied, o.tag, err)
			}
			n++
			break
		}
	}
	t.Logf("%d tasks", n)
}

// Arguments that are not those that the customer wants get a no.
func TestChangedArguments(t *testing.T) {
	f := open(t)
	req.Covers(t, "OD-9.3.4", "OD-4.4.20")
	n := 0
	for _, one := range f.tasks {
		if !one.Confirm || len(one.writes()) == 0 {
			continue
		}
		p := f.play(one)
		p.script = slices.Clone(p.script)
		for i := range p.script {
			if p.script[i].Effect == effectWrite {
				p.script[i].Arguments = changed(p.script[i].Arguments)
			}
		}
		o, err := p.perform(t.Context())
		if err != nil || len(p.writes) > 0 || o.tag == events.TagCompleted {
			t.Errorf("%s: %d writes, asked %d times, denied %v, %s, %v", one.ID, len(p.writes), o.asked, o.denied, o.tag, err)
		}
		n++
	}
	if n == 0 {
		t.Error("no task")
	}
}

// changed changes the first text in arguments.
func changed(arguments map[string]events.JSON) map[string]events.JSON {
	arguments = maps.Clone(arguments)
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		text := string(arguments[name])
		if at := strings.LastIndexByte(text, '"'); at > 0 {
			arguments[name] = events.JSON(text[:at] + "9" + text[at:])
			break
		}
	}
	return arguments
}

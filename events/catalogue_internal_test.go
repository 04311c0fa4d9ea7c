package events

import (
	"errors"
	"reflect"
	"testing"
)

// Three versions of one synthetic event: a name, split in two, then joined by
// a full name with its length.
type personV1 struct {
	Name  string `json:"name"`
	Extra Extra  `json:"-"`
}

func (*personV1) EventType() string { return "mandate.request.person.v1" }

type personV2 struct {
	Given string `json:"given"`
	Extra Extra  `json:"-"`
}

func (*personV2) EventType() string { return "mandate.request.person.v2" }

type personV3 struct {
	Full   string `json:"full"`
	Length int    `json:"length"`
	Extra  Extra  `json:"-"`
}

func (*personV3) EventType() string { return "mandate.request.person.v3" }

func people() catalogue {
	c := newCatalogue(
		func() Payload { return new(personV1) },
		func() Payload { return new(personV2) },
		func() Payload { return new(personV3) },
	)
	v1, v2 := c["mandate.request.person.v1"], c["mandate.request.person.v2"]
	v1.upcast = func(p Payload) Payload {
		old := p.(*personV1) //nolint:errcheck,forcetypeassert // the catalogue's own type
		return &personV2{Given: old.Name, Extra: old.Extra}
	}
	v2.upcast = func(p Payload) Payload {
		old := p.(*personV2) //nolint:errcheck,forcetypeassert // the catalogue's own type
		return &personV3{Full: old.Given, Length: len(old.Given), Extra: old.Extra}
	}
	c["mandate.request.person.v1"], c["mandate.request.person.v2"] = v1, v2
	return c
}

func TestUpcastersLeadToTheNewestVersion(t *testing.T) {
	c := people()
	extra := Extra{"later": {0xc3}}
	want := &personV3{Full: "Ada", Length: 3, Extra: extra}
	for _, stored := range []Payload{
		&personV1{Name: "Ada", Extra: extra}, &personV2{Given: "Ada", Extra: extra}, want,
	} {
		data, err := EncodePayload(stored)
		if err != nil {
			t.Fatal(err)
		}
		read, err := c.new(stored.EventType())
		if err != nil {
			t.Fatal(err)
		}
		d := cursor{data: data}
		if err := d.value(reflect.ValueOf(read).Elem()); err != nil {
			t.Fatal(err)
		}
		if got := c.current(read); !reflect.DeepEqual(got, want) {
			t.Errorf("%s became %+v", stored.EventType(), got)
		}
		again, err := EncodePayload(stored)
		if err != nil || string(again) != string(data) {
			t.Errorf("%s: reading changed what was read: %v", stored.EventType(), err)
		}
	}
}

func TestVersionsOfTheCatalogue(t *testing.T) {
	c := people()
	for _, name := range []string{
		"mandate.request.person.v4", "mandate.request.person.v5", "mandate.request.person.v999",
		"mandate.request.person.v1000", "mandate.request.person.v99999999999999999999999",
	} {
		if p, err := c.new(name); !errors.Is(err, ErrVersion) {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
	for _, name := range []string{
		"mandate.request.place.v1", "mandate.request.place.v7", "mandate.request.person", "mandate.request.person.v0",
		"mandate.request.person.v-1", "mandate.request.person.v", "", ".v1", ".v2", "person.v2",
	} {
		p, err := c.new(name)
		if u, ok := p.(*Unknown); err != nil || !ok || u.Type != name {
			t.Errorf("%q: %#v, %v", name, p, err)
		}
	}
	if unknown := (&Unknown{Type: "other.v1"}); c.current(unknown) != unknown {
		t.Error("an unknown payload was changed")
	}
}

// Every type of the real catalogue is the newest of its name or leads to it.
func TestCatalogueHasNoLooseEnd(t *testing.T) {
	for name, e := range types {
		got := types.current(e.make())
		if _, newer := types.new(got.EventType()); newer != nil {
			t.Errorf("%s leads to %s, which is unknown", name, got.EventType())
		}
		base, version, ok := splitType(got.EventType())
		if !ok {
			t.Errorf("%s is no versioned name", got.EventType())
		}
		for other := range types {
			if b, v, _ := splitType(other); b == base && v > version {
				t.Errorf("%s ends at version %d, but %s exists", name, version, other)
			}
		}
	}
}

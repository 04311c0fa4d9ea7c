package wire

import "strconv"

// Kind is what a member of an object of scalars holds.
type Kind uint8

// The kinds of a member.
const (
	// KindOther is whatever is no scalar of the profile: null, a fraction, an array, an object.
	KindOther Kind = iota
	KindText
	KindInteger
	KindBoolean
)

// Member is a member of an object. Text holds the text of KindText, and what was written for every other kind.
type Member struct {
	Name string
	Kind Kind
	Text string
}

// Members reads an object. Names must be in strictly rising order, unless blanks are allowed: then every order is good,
// and no name may be there twice. It keeps at most one more member than most.
func (d *Decoder) Members(most int) []Member {
	members := []Member{}
	d.blanks()
	d.Expect("{")
	d.blanks()
	if d.Skip("}") {
		return members
	}
	for !d.failed {
		name := d.Text()
		d.blanks()
		d.Expect(":")
		member := d.member(name)
		if d.misplaced(members, name) {
			d.Fail()
		}
		if len(members) <= most {
			members = append(members, member)
		}
		d.blanks()
		if !d.Skip(",") {
			d.Expect("}")
			break
		}
	}
	return members
}

// misplaced reports whether name may not follow members.
func (d *Decoder) misplaced(members []Member, name string) bool {
	if !d.loose {
		return len(members) > 0 && name <= members[len(members)-1].Name
	}
	for i := range members {
		if members[i].Name == name {
			return true
		}
	}
	return false
}

// member reads the value of a member.
func (d *Decoder) member(name string) Member {
	d.blanks()
	if d.failed || d.at >= len(d.data) {
		d.Fail()
		return Member{}
	}
	switch c := d.data[d.at]; c {
	case '"':
		return Member{name, KindText, d.Text()}
	case '{', '[':
		from := d.at
		d.pass()
		return Member{name, KindOther, string(d.data[from:d.at])}
	}
	literal := d.token()
	switch {
	case literal == "true" || literal == "false":
		return Member{name, KindBoolean, literal}
	case canonicalInteger(literal):
		return Member{name, KindInteger, literal}
	}
	return Member{name, KindOther, literal}
}

// canonicalInteger reports whether literal is how a signed 64-bit integer is written.
func canonicalInteger(literal string) bool {
	value, err := strconv.ParseInt(literal, 10, 64)
	return err == nil && strconv.FormatInt(value, 10) == literal
}

// pass goes to the end of the array or object that begins here; a scan has passed it, so brackets match.
func (d *Decoder) pass() {
	depth := 0
	for d.at < len(d.data) {
		switch d.data[d.at] {
		case '"':
			end, _ := textEnd(d.data, d.at)
			d.at = end
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		d.at++
		if depth == 0 {
			return
		}
	}
	d.Fail()
}

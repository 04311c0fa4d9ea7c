package document

import (
	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/wire"
)

// Action is what a model asks for: a final message, or one call of a tool. It is data; nothing in it grants anything.
type Action struct {
	Read
	// Final says that the action is a final message.
	Final     bool
	Message   string
	ToolID    string
	Arguments []wire.Member
}

const (
	actionFinal = `{"schema":"` + SchemaAction + `","kind":"final","message":`
	actionTool  = `{"schema":"` + SchemaAction + `","kind":"tool","tool_id":`
)

// maxArguments is how many arguments of an action are kept. Each takes at least six bytes, and no schema of a profile
// has room for as many, so more of them are refused by the schema anyway.
const maxArguments = 16 << 10

// ParseAction reads an action of at most most bytes.
func ParseAction(data []byte, most uint64) (*Action, error) {
	k := kind{"action", SchemaAction, FieldProviderResponseBytes, int(min(most, Caps().ProviderResponseBytes)), wire.DomainAction}
	if err := k.scanned(data); err != nil {
		return nil, err
	}
	d := wire.NewDecoder(data)
	var a Action
	if a.Final = d.Skip(actionFinal); a.Final {
		a.Message = d.Text()
	} else {
		d.Expect(actionTool)
		a.ToolID = d.Text()
		d.Expect(`,"arguments":`)
		a.Arguments = d.Members(maxArguments)
	}
	d.Expect("}")
	if len(a.Arguments) > maxArguments {
		d.Fail()
	}
	read, err := k.finish(data, d, a.write)
	if err != nil {
		return nil, err
	}
	a.Read = read
	return &a, nil
}

// RenderFinal returns the action with a final message.
func RenderFinal(message string) []byte {
	w := wire.NewWriter(wire.StyleInput)
	(&Action{Final: true, Message: message}).write(w)
	return w.Bytes()
}

func (a *Action) write(w *wire.Writer) {
	if a.Final {
		w.Raw(actionFinal)
		w.Text(a.Message)
		w.Raw("}\n")
		return
	}
	w.Raw(actionTool)
	w.Text(a.ToolID)
	w.Raw(`,"arguments":{`)
	for i := range a.Arguments {
		m := &a.Arguments[i]
		if i > 0 {
			w.Raw(",")
		}
		w.Text(m.Name)
		w.Raw(":")
		if m.Kind == wire.KindText {
			w.Text(m.Text)
		} else {
			w.Raw(m.Text)
		}
	}
	w.Raw("}}\n")
}

// ParseResult reads what a tool returned: one object, in any order and with blanks.
func ParseResult(data []byte) ([]wire.Member, error) {
	if wire.ScanValue(data) != wire.FaultNone {
		return nil, diagnostic.Tool(diagnostic.ResultInvalid)
	}
	d := wire.NewValueDecoder(data)
	members := d.Members(maxResultMembers)
	d.End()
	if d.Failed() || len(members) > maxResultMembers {
		return nil, diagnostic.Tool(diagnostic.ResultInvalid)
	}
	return members, nil
}

// maxResultMembers bounds the members of a result; each new name is compared with those before it.
const maxResultMembers = 1024

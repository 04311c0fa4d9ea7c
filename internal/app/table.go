package app

import (
	"strings"

	"example.org/mandate/events"
)

// ListenTable draws the table of who listens to what, as Markdown. The one in
// docs/architecture.md is tested to be it.
func ListenTable() string {
	var b strings.Builder
	b.WriteString("| reader | stream | events |\n|---|---|---|\n")
	for _, t := range Targets() {
		for _, l := range listensTo(t) {
			stream, names := l.source.Owner.Stream(), make([]string, 0, len(l.types))
			for _, name := range l.types {
				names = append(names, "`"+events.ShortType(name)+"`")
			}
			if l.source.Timers {
				stream, names = "timers of "+string(l.source.Owner), []string{"what fired"}
			}
			b.WriteString("| " + string(t) + " | " + stream + " | " + strings.Join(names, ", ") + " |\n")
		}
	}
	b.WriteString("| every service | REGISTRY | all |\n| gateway | every stream | all |\n")
	return b.String()
}

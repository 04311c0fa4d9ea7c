package api

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.org/mandate/events"
	"example.org/mandate/internal/projector"
)

// heartbeat is how often an idle stream says that it is alive.
const heartbeat = 15 * time.Second

// writeTimeout bounds how long a reader may take for one message.
const writeTimeout = 30 * time.Second

// cursor is how far a reader has come in each owner's chain or stream. Its
// text is the ID of a server-sent event.
type cursor map[events.Owner]uint64

// String returns the text of a cursor, such as "admission.3-request.1".
func (c cursor) String() string {
	parts := make([]string, 0, len(c))
	for _, owner := range slices.Sorted(maps.Keys(c)) {
		if c[owner] > 0 {
			parts = append(parts, string(owner)+"."+strconv.FormatUint(c[owner], 10))
		}
	}
	return strings.Join(parts, "-")
}

func parseCursor(text string) (cursor, error) {
	c := cursor{}
	if text == "" {
		return c, nil
	}
	refuse := fail(http.StatusBadRequest, events.Diagnostic{
		Code: events.CodeRequestMalformed, Path: "Last-Event-ID", Message: "not an ID of this stream", Action: "use the ID of the last event received, or none",
	})
	parts := strings.Split(text, "-")
	if len(parts) > len(events.Owners()) {
		return nil, refuse
	}
	for _, part := range parts {
		name, digits, _ := strings.Cut(part, ".")
		n, err := strconv.ParseUint(digits, 10, 63)
		if err != nil || !events.Owner(name).Valid() || c[events.Owner(name)] > 0 {
			return nil, refuse
		}
		c[events.Owner(name)] = n
	}
	return c, nil
}

// runOwners lists the owners of chains about runs.
func runOwners() []events.Owner {
	return slices.DeleteFunc(events.Owners(), func(o events.Owner) bool { return o == events.OwnerRegistry })
}

// stream is an open stream of server-sent events.
type stream struct {
	c       *call
	control *http.ResponseController
	at      cursor // what was sent
}

// stream opens a stream of server-sent events. close must be called.
func (s *server) stream(c *call, at cursor) (opened *stream, closed func(), err error) {
	select {
	case s.streams <- struct{}{}:
	default:
		return nil, nil, fail(http.StatusServiceUnavailable, events.Diagnostic{
			Code: events.CodeUnavailable, Message: "too many event streams are open", Action: "try again later",
		})
	}
	s.counts.stream(1)
	closed = func() { <-s.streams; s.counts.stream(-1) }
	opened = &stream{c: c, control: http.NewResponseController(c.ResponseWriter), at: maps.Clone(at)}
	c.Header().Set("Content-Type", "text/event-stream")
	c.Header().Set("X-Accel-Buffering", "no")
	c.WriteHeader(http.StatusOK)
	return opened, closed, opened.write([]byte(": mandate\n\n"))
}

func (st *stream) write(data []byte) error {
	// Not every connection can have a deadline; then the reader's own end ends it.
	_ = st.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := st.c.ResponseWriter.Write(data); err != nil {
		return fmt.Errorf("event stream: %w", err)
	}
	return st.control.Flush()
}

// send sends a commit; number is where the reader then is in its owner's chain
// or stream.
func (st *stream) send(c *events.Commit, number uint64) error {
	data, err := c.CloudEvents()
	if err != nil {
		return fmt.Errorf("events as JSON: %w", err)
	}
	st.at[c.Subject.Owner] = number
	var out bytes.Buffer
	fmt.Fprintf(&out, "id: %s\nevent: commit\ndata: %s\n\n", st.at, data)
	return st.write(out.Bytes())
}

// runEvents streams the commits of one run. With follow=false it ends with
// what there is.
func (s *server) runEvents(c *call) error {
	at, err := parseCursor(c.Request.Header.Get("Last-Event-ID"))
	if err != nil {
		return err
	}
	key, _, err := s.view(c)
	if err != nil {
		return err
	}
	st, closed, err := s.stream(c, at)
	if err != nil {
		return err
	}
	defer closed()
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	if c.URL.Query().Get("follow") == "false" {
		// The view may be behind in one stream and not in another: an answer
		// that ends has to look at them all.
		return s.sendChains(st, key, runOwners())
	}
	for {
		changed := s.o.Views.Changed()
		if err := s.sendNews(st, key); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-beat.C:
			if err := st.write([]byte(": heartbeat\n\n")); err != nil {
				return err
			}
		case <-c.Context().Done():
			return nil
		}
	}
}

// sendNews sends what a view has of a run since the stream's cursor.
func (s *server) sendNews(st *stream, key projector.Key) error {
	v, err := s.o.Views.View(st.c.Context(), key)
	if err != nil {
		return err
	}
	behind := slices.DeleteFunc(runOwners(), func(owner events.Owner) bool { return v.Positions[owner] <= st.at[owner] })
	return s.sendChains(st, key, behind)
}

// sendChains sends what some services recorded about a run since the stream's
// cursor: each chain in its order, the chains merged by time.
func (s *server) sendChains(st *stream, key projector.Key, owners []events.Owner) error {
	chains := map[events.Owner][]events.Commit{}
	for _, owner := range owners {
		records, err := s.o.Streams.Load(st.c.Context(), events.Subject{Owner: owner, Tenant: key.Tenant, Run: key.Run}, st.at[owner])
		if err != nil {
			return fmt.Errorf("read chain of %s: %w", owner, err)
		}
		for _, r := range records {
			commit, err := events.Decode(r)
			if err != nil {
				return fmt.Errorf("read chain of %s: %w", owner, err)
			}
			chains[owner] = append(chains[owner], commit)
		}
	}
	for {
		var next *events.Commit
		for _, owner := range runOwners() {
			if len(chains[owner]) > 0 && (next == nil || timeOf(&chains[owner][0]) < timeOf(next)) {
				next = &chains[owner][0]
			}
		}
		if next == nil {
			return nil
		}
		chains[next.Subject.Owner] = chains[next.Subject.Owner][1:]
		if err := st.send(next, next.Number); err != nil {
			return err
		}
	}
}

func timeOf(c *events.Commit) events.Time {
	if len(c.Events) == 0 {
		return 0
	}
	return c.Events[0].Time
}

// allEvents streams the commits of every run of the tenant, from now on, from
// where Last-Event-ID says, or with from=start from the beginning.
func (s *server) allEvents(c *call) error {
	at, err := parseCursor(c.Request.Header.Get("Last-Event-ID"))
	if err != nil {
		return err
	}
	if len(at) == 0 && c.URL.Query().Get("from") != "start" {
		for _, owner := range runOwners() {
			if at[owner], err = s.o.Streams.Last(c.Context(), owner); err != nil {
				return fmt.Errorf("end of %s: %w", owner.Stream(), err)
			}
		}
	}
	st, closed, err := s.stream(c, at)
	if err != nil {
		return err
	}
	defer closed()
	ctx, cancel := context.WithCancel(c.Context())
	found := make(chan arrival)
	running := len(runOwners())
	ended := make(chan struct{}, running)
	for _, owner := range runOwners() {
		go func() {
			defer func() { ended <- struct{}{} }()
			s.followOwner(ctx, owner, at[owner]+1, found)
		}()
	}
	defer func() {
		cancel()
		for range running {
			<-ended
		}
	}()
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		select {
		case a := <-found:
			if a.err != nil {
				return a.err
			}
			if a.commit.Subject.Tenant != c.tenant {
				st.at[a.commit.Subject.Owner] = a.sequence
				continue
			}
			if err := st.send(&a.commit, a.sequence); err != nil {
				return err
			}
		case <-beat.C:
			if err := st.write([]byte(": heartbeat\n\n")); err != nil {
				return err
			}
		case <-c.Context().Done():
			return nil
		}
	}
}

type arrival struct {
	commit   events.Commit
	sequence uint64
	err      error
}

// followOwner hands over what is recorded in a stream until ctx ends.
func (s *server) followOwner(ctx context.Context, owner events.Owner, from uint64, found chan<- arrival) {
	for record, err := range s.o.Streams.Follow(ctx, owner, from) {
		a := arrival{sequence: record.Sequence, err: err}
		if err == nil {
			if a.commit, err = events.Decode(record); err != nil {
				s.o.Logger.WarnContext(ctx, "record is no commit", "stream", record.Stream, "sequence", record.Sequence, "err", err)
				continue
			}
		}
		select {
		case found <- a:
		case <-ctx.Done():
			return
		}
	}
}

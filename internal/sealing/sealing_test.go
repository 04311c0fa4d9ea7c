package sealing_test

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/events/eventstest"
	"example.org/mandate/internal/journal"
	"example.org/mandate/internal/journal/memory"
	"example.org/mandate/internal/sealing"
)

const scope = "acme.run-1"

type fixture struct {
	journal *memory.Journal
	keys    *sealing.Keyring
	sealer  *sealing.Sealer
}

// start returns a keyring and a sealer over an empty journal.
func start(t *testing.T) fixture {
	t.Helper()
	j := memory.New(memory.Options{})
	t.Cleanup(func() { _ = j.Close() })
	return over(t, j, 1)
}

// over is another process over the same journal, with a wrapping key made of
// one byte.
func over(t *testing.T, j *memory.Journal, wrapping byte) fixture {
	t.Helper()
	keys, err := sealing.NewKeyring(j, bytes.Repeat([]byte{wrapping}, sealing.KeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	return fixture{j, keys, sealing.New(keys, j)}
}

func steered(contents ...string) *events.Commit {
	var payloads []events.Payload
	for _, content := range contents {
		payloads = append(payloads, &events.Steered{
			Principal:   events.Principal{ID: "anna", Kind: events.PrincipalPerson},
			Instruction: events.NewBody(events.ClassRequest, events.MediaText, []byte(content)),
		})
	}
	return eventstest.Commit(payloads...)
}

func instruction(t *testing.T, c *events.Commit, i int) events.Body {
	t.Helper()
	payload, ok := c.Events[i].Data.(*events.Steered)
	if !ok {
		t.Fatalf("event %d is %T", i, c.Events[i].Data)
	}
	return payload.Instruction
}

// stored seals and encodes c, and returns it as a reader without keys sees it.
func (f fixture) stored(t *testing.T, c *events.Commit, scope string) (events.Record, events.Commit) {
	t.Helper()
	if err := f.sealer.Seal(t.Context(), c, scope); err != nil {
		t.Fatal(err)
	}
	record := eventstest.Record(t, c)
	read, err := events.Decode(record)
	if err != nil {
		t.Fatal(err)
	}
	return record, read
}

func TestSealAndOpen(t *testing.T) {
	f := start(t)
	texts := []string{"", "short", strings.Repeat("x", events.MaxInlineBody)}
	_, read := f.stored(t, steered(texts...), scope)
	if body := instruction(t, &read, 1); body.Size != int64(len("short")) {
		t.Errorf("size %d", body.Size)
	} else if _, open := body.Content(); open {
		t.Error("a body is open without a key")
	}
	for name, reader := range map[string]fixture{"the same process": f, "another process": over(t, f.journal, 1)} {
		opened := read
		opened.Events = append([]events.Event(nil), read.Events...)
		if err := reader.sealer.Open(t.Context(), &opened); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i, want := range texts {
			if got, open := instruction(t, &opened, i).Content(); !open || string(got) != want {
				t.Errorf("%s: body %d is %.20q (%v)", name, i, got, open)
			}
		}
	}
}

func TestCommitmentsHide(t *testing.T) {
	f := start(t)
	const guess = "yes"
	_, first := f.stored(t, steered(guess, guess, "no"), scope)
	_, second := f.stored(t, steered(guess), scope)
	_, other := f.stored(t, steered(guess), "acme.run-2")
	commitment := instruction(t, &first, 0).Commitment
	if commitment != instruction(t, &first, 1).Commitment || commitment != instruction(t, &second, 0).Commitment {
		t.Error("equal contents of a scope have different commitments")
	}
	if len(first.Sealed) != 2 {
		t.Errorf("%d bodies are sealed for two contents", len(first.Sealed))
	}
	if commitment == instruction(t, &first, 2).Commitment {
		t.Error("different contents have one commitment")
	}
	if commitment == instruction(t, &other, 0).Commitment {
		t.Error("another scope has the same commitment: a guess can be confirmed")
	}
	if bytes.Equal(first.Sealed[0].Ciphertext, other.Sealed[0].Ciphertext) {
		t.Error("another scope has the same ciphertext")
	}
	for _, plain := range []events.Digest{
		canon.Sum("body", []byte(guess)), events.Commitment(nil, []byte(guess)),
		events.Commitment(make([]byte, events.SaltBytes), []byte(guess)), events.Commitment(events.Salt(nil, []byte(guess)), []byte(guess)),
	} {
		if commitment == plain {
			t.Error("the commitment follows from the content alone")
		}
	}
}

func TestErasedScope(t *testing.T) {
	f := start(t)
	record, read := f.stored(t, steered("forget me"), scope)
	if err := f.keys.Erase(t.Context(), scope); err != nil {
		t.Fatal(err)
	}
	if err := f.keys.Erase(t.Context(), scope); err != nil {
		t.Errorf("erasing again: %v", err)
	}
	for name, reader := range map[string]fixture{"the same process": f, "another process": over(t, f.journal, 1)} {
		if err := reader.sealer.Open(t.Context(), &read); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if content, open := instruction(t, &read, 0).Content(); open {
			t.Errorf("%s reads %q", name, content)
		}
		if _, err := reader.keys.Key(t.Context(), scope); !errors.Is(err, sealing.ErrErased) {
			t.Errorf("%s has a key: %v", name, err)
		}
		if err := reader.sealer.Seal(t.Context(), steered("again"), scope); !errors.Is(err, sealing.ErrErased) {
			t.Errorf("%s seals into the erased scope: %v", name, err)
		}
	}
	// What was stored is still whole: its digest and the one that follows.
	again, err := events.Decode(record)
	if err != nil || again.Digest != read.Digest || events.CheckNext(events.Head{}, &again) != nil {
		t.Errorf("the chain does not verify any more: %v", err)
	}
	next := eventstest.Next(&again)
	if events.CheckNext(again.Head(), next) != nil {
		t.Error("nothing can follow any more")
	}
	encoded, err := events.Encode(&again)
	if err != nil || !bytes.Equal(encoded, record.Data) {
		t.Errorf("written again it differs: %v", err)
	}
}

func TestUnknownScopeStaysClosed(t *testing.T) {
	f := start(t)
	_, read := f.stored(t, steered("x"), scope)
	elsewhere := start(t)
	if err := elsewhere.sealer.Open(t.Context(), &read); err != nil {
		t.Fatal(err)
	}
	if _, open := instruction(t, &read, 0).Content(); open {
		t.Error("a body was opened without a key")
	}
}

func TestLargeBodiesBecomeBlobs(t *testing.T) {
	f := start(t)
	large := strings.Repeat("0123456789abcdef", 32<<10) // three blobs
	_, read := f.stored(t, steered(large, "small"), scope)
	if n := len(read.Sealed[0].Chunks); n != 3 || len(read.Sealed[0].Ciphertext) > 0 {
		t.Errorf("%d chunks and %d bytes inline", n, len(read.Sealed[0].Ciphertext))
	}
	if len(read.Sealed[1].Chunks) > 0 {
		t.Error("a small body is a blob")
	}
	for _, digest := range read.Sealed[0].Chunks {
		chunk, err := f.journal.Blob(t.Context(), digest)
		if err != nil || bytes.Contains(chunk, []byte("0123456789abcdef")) {
			t.Errorf("blob %s: %v, in the clear: %v", digest, err, err == nil)
		}
	}
	if err := over(t, f.journal, 1).sealer.Open(t.Context(), &read); err != nil {
		t.Fatal(err)
	}
	if content, open := instruction(t, &read, 0).Content(); !open || string(content) != large {
		t.Errorf("%d bytes came back (%v)", len(content), open)
	}
}

// Bodies that are small each and large together stay within a commit.
func TestManyBodiesBecomeBlobs(t *testing.T) {
	f := start(t)
	var contents []string
	for i := range 8 {
		contents = append(contents, strings.Repeat(string(rune('a'+i)), events.MaxInlineBody-100))
	}
	_, read := f.stored(t, steered(contents...), scope)
	inline, blobs := 0, 0
	for _, sealed := range read.Sealed {
		inline += len(sealed.Ciphertext)
		if len(sealed.Chunks) > 0 {
			blobs++
		}
	}
	if inline > 128<<10 || blobs != 4 {
		t.Errorf("%d bytes inline, %d blobs", inline, blobs)
	}
	if err := f.sealer.Open(t.Context(), &read); err != nil {
		t.Fatal(err)
	}
	for i, want := range contents {
		if content, _ := instruction(t, &read, i).Content(); string(content) != want {
			t.Errorf("body %d came back as %.10q", i, content)
		}
	}
}

func TestDamage(t *testing.T) {
	large := strings.Repeat("y", events.MaxInlineBody+1)
	for name, test := range map[string]struct {
		content string
		damage  func(*events.SealedBody)
	}{
		"a changed byte":     {"text", func(s *events.SealedBody) { s.Ciphertext[3] ^= 1 }},
		"a changed tag":      {"text", func(s *events.SealedBody) { s.Ciphertext[len(s.Ciphertext)-1] ^= 1 }},
		"a cut ciphertext":   {"text", func(s *events.SealedBody) { s.Ciphertext = s.Ciphertext[:len(s.Ciphertext)-1] }},
		"no ciphertext":      {"text", func(s *events.SealedBody) { s.Ciphertext = nil }},
		"another commitment": {"text", func(s *events.SealedBody) { s.Commitment = canon.Sum("example", nil) }},
		"a missing blob":     {large, func(s *events.SealedBody) { s.Chunks[0] = canon.Sum("blob", []byte("never put")) }},
		"no blob":            {large, func(s *events.SealedBody) { s.Chunks = nil }},
		"a blob twice":       {large, func(s *events.SealedBody) { s.Chunks = append(s.Chunks, s.Chunks[0]) }},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			_, read := f.stored(t, steered(test.content), scope)
			test.damage(&read.Sealed[0])
			for who, reader := range map[string]fixture{"the same process": f, "another process": over(t, f.journal, 1)} {
				if err := reader.sealer.Open(t.Context(), &read); !errors.Is(err, sealing.ErrDamaged) {
					t.Errorf("%s: %v", who, err)
				}
			}
		})
	}
}

// The bytes of one body do not pass as another's, and a body of one scope does
// not pass in another.
func TestBodiesCannotBeExchanged(t *testing.T) {
	f := start(t)
	_, read := f.stored(t, steered("pay 1", "pay 1000"), scope)
	read.Sealed[0].Ciphertext, read.Sealed[1].Ciphertext = read.Sealed[1].Ciphertext, read.Sealed[0].Ciphertext
	if err := over(t, f.journal, 1).sealer.Open(t.Context(), &read); !errors.Is(err, sealing.ErrDamaged) {
		t.Errorf("exchanged ciphertexts: %v", err)
	}
	_, read = f.stored(t, steered("pay 1"), scope)
	f.stored(t, steered("x"), "acme.run-2")
	read.Sealed[0].Scope = "acme.run-2"
	if err := f.sealer.Open(t.Context(), &read); !errors.Is(err, sealing.ErrDamaged) {
		t.Errorf("another scope: %v", err)
	}
	opened := steered("private")
	f.stored(t, opened, scope)
	if err := f.sealer.Seal(t.Context(), opened, "acme.run-2"); !errors.Is(err, sealing.ErrDamaged) {
		t.Errorf("a body of one scope was sealed into another: %v", err)
	}
}

// Naming a body is no right to read it: whoever copies the name into a commit
// of a scope of their own gets nothing.
func TestNamingABodyIsNoAccess(t *testing.T) {
	f := start(t)
	_, theirs := f.stored(t, steered("their secret"), "acme.run-theirs")
	named := instruction(t, &theirs, 0)
	mine := eventstest.Commit(&events.Steered{Instruction: named})
	record, read := f.stored(t, mine, "acme.run-mine")
	if len(read.Sealed) != 0 || bytes.Contains(record.Data, []byte("their secret")) {
		t.Error("a named body was passed on")
	}
	if err := f.sealer.Open(t.Context(), &read); err != nil {
		t.Fatal(err)
	}
	if content, open := instruction(t, &read, 0).Content(); open {
		t.Errorf("naming a body opened it: %q", content)
	}
}

func TestKeyring(t *testing.T) {
	f := start(t)
	key, err := f.keys.Create(t.Context(), scope)
	if err != nil || len(key) != sealing.KeyBytes {
		t.Fatalf("%d bytes, %v", len(key), err)
	}
	wrapped, err := f.journal.Value(t.Context(), journal.BucketKeys, scope)
	if err != nil || bytes.Contains(wrapped, key) {
		t.Errorf("the key lies in the clear: %v", err)
	}
	if again, err := over(t, f.journal, 1).keys.Key(t.Context(), scope); err != nil || !bytes.Equal(again, key) {
		t.Errorf("another process has another key: %v", err)
	}
	if _, err := over(t, f.journal, 2).keys.Key(t.Context(), scope); err == nil || !strings.Contains(err.Error(), "wrapping key") {
		t.Errorf("a wrong wrapping key: %v", err)
	}
	if _, err := f.keys.Key(t.Context(), "acme.run-never"); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("a scope without a key: %v", err)
	}
	// A wrapped key belongs to its scope.
	if err := f.journal.PutValue(t.Context(), journal.BucketKeys, "acme.run-2", wrapped); err != nil {
		t.Fatal(err)
	}
	if _, err := f.keys.Key(t.Context(), "acme.run-2"); err == nil {
		t.Error("the key of one scope passes as another's")
	}
	if err := f.journal.PutValue(t.Context(), journal.BucketKeys, "acme.run-3", []byte("short")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.keys.Key(t.Context(), "acme.run-3"); !errors.Is(err, journal.ErrCorrupt) {
		t.Errorf("a cut key: %v", err)
	}
	if _, err := sealing.NewKeyring(f.journal, make([]byte, 16)); err == nil {
		t.Error("a short wrapping key is accepted")
	}
}

func TestConcurrentCreateGivesOneKey(t *testing.T) {
	j := start(t).journal
	var processes []fixture
	for range 8 {
		processes = append(processes, over(t, j, 1))
	}
	keys := make([][]byte, 32)
	var group sync.WaitGroup
	for i := range keys {
		group.Go(func() {
			key, err := processes[i%len(processes)].keys.Create(t.Context(), scope)
			if err != nil {
				t.Error(err)
			}
			keys[i] = key
		})
	}
	group.Wait()
	for _, key := range keys {
		if !bytes.Equal(key, keys[0]) {
			t.Fatal("one scope has two keys")
		}
	}
}

func TestScopes(t *testing.T) {
	scopes := []string{
		sealing.Scope("acme", "r", ""), sealing.Scope("acme", "r", "t"), sealing.Scope("acme", "t", ""), sealing.Scope("other", "r", ""),
		sealing.Scope("other", "r", "t"),
	}
	for i, a := range scopes {
		if journal.CheckKey(journal.BucketKeys, a) != nil {
			t.Errorf("scope %q cannot be a key", a)
		}
		for _, b := range scopes[:i] {
			if a == b {
				t.Errorf("two scopes are %q", a)
			}
		}
	}
	if sealing.Scope("acme", "r1", "t") != sealing.Scope("acme", "r2", "t") {
		t.Error("two runs of a thread have different scopes")
	}
}

// Every private text of every event type is hidden: no body's content is in
// the bytes or the headers that the streams hold, or in a blob.
func TestNoPrivateTextInTheClear(t *testing.T) {
	f := start(t)
	const sentinel = "SENTINEL-the-private-words-4711"
	bodies, position := 0, map[events.Subject]journal.Position{}
	for _, name := range events.Types() {
		payload := eventstest.Payload(t, name)
		for i, body := range events.Bodies(payload) {
			content := []byte(strings.Repeat(sentinel, 1+i*2000)) // inline and blobs
			*body = events.NewBody(body.Class, body.MediaType, content)
			bodies++
		}
		c := eventstest.Commit(payload)
		after := position[c.Subject]
		c.ID, c.Number, c.Previous = "commit-"+name, after.Number+1, after.Digest
		if err := f.sealer.Seal(t.Context(), c, scope); err != nil {
			t.Fatal(err)
		}
		data, err := events.Encode(c)
		if err != nil {
			t.Fatal(err)
		}
		if position[c.Subject], err = f.journal.Append(t.Context(), c, data, after); err != nil {
			t.Fatal(err)
		}
	}
	records, opened := 0, 0
	for _, owner := range events.Owners() {
		for record, err := range f.journal.Read(t.Context(), owner, 1) {
			if err != nil {
				t.Fatal(err)
			}
			records++
			if bytes.Contains(record.Data, []byte("SENTINEL")) {
				t.Errorf("%s: private text in the body", record.Header[events.HeaderTypes])
			}
			for name, value := range record.Header {
				if strings.Contains(value, "SENTINEL") {
					t.Errorf("private text in header %s", name)
				}
			}
			opened += f.checkSealed(t, record, sentinel)
		}
	}
	if records != len(events.Types()) || bodies < 60 || opened != bodies {
		t.Errorf("%d commits, %d bodies, %d of them opened again", records, bodies, opened)
	}
}

// checkSealed checks the blobs of a record, and that its bodies open again.
func (f fixture) checkSealed(t *testing.T, record events.Record, sentinel string) (opened int) {
	t.Helper()
	c, err := events.Decode(record)
	if err != nil {
		t.Fatal(err)
	}
	for _, sealed := range c.Sealed {
		for _, digest := range sealed.Chunks {
			chunk, err := f.journal.Blob(t.Context(), digest)
			if err != nil || bytes.Contains(chunk, []byte("SENTINEL")) {
				t.Errorf("blob %s holds private text, or is missing: %v", digest, err)
			}
		}
	}
	if err := f.sealer.Open(t.Context(), &c); err != nil {
		t.Error(err)
	}
	for _, body := range events.Bodies(c.Events[0].Data) {
		if content, open := body.Content(); open && strings.HasPrefix(string(content), sentinel) {
			opened++
		}
	}
	return opened
}

func TestCheckOfWrappingKey(t *testing.T) {
	f := start(t)
	if err := f.keys.Check(t.Context()); err != nil {
		t.Fatalf("a first check: %v", err)
	}
	if err := over(t, f.journal, 1).keys.Check(t.Context()); err != nil {
		t.Errorf("the same wrapping key: %v", err)
	}
	if err := over(t, f.journal, 2).keys.Check(t.Context()); err == nil {
		t.Error("another wrapping key was accepted")
	}
}

// A bucket of before there were checks is bound to the key that opens it only.
func TestCheckOfWrappingKeyBindsNoOther(t *testing.T) {
	f := start(t)
	for _, name := range []string{"acme.run-0", scope} {
		if _, err := f.keys.Create(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.keys.Erase(t.Context(), "acme.run-0"); err != nil {
		t.Fatal(err)
	}
	if err := over(t, f.journal, 2).keys.Check(t.Context()); err == nil {
		t.Error("another wrapping key was accepted")
	}
	if err := over(t, f.journal, 1).keys.Check(t.Context()); err != nil {
		t.Errorf("the right wrapping key: %v", err)
	}
}

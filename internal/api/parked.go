package api

import (
	"errors"
	"net/http"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
)

// ParkedList lists what no service could handle.
type ParkedList struct {
	Parked []journal.Parked `json:"parked"`
}

// parked returns what is parked of the caller's tenant, and what is of no
// tenant because its subject means nothing.
func (s *server) parked(c *call) ([]journal.Parked, error) {
	all, err := s.o.Parking.ParkedMessages(c.Context())
	if err != nil {
		return nil, err
	}
	mine := []journal.Parked{}
	for i := range all {
		subject, err := events.ParseSubject(all[i].Subject)
		if err != nil || subject.Tenant == c.tenant {
			mine = append(mine, all[i])
		}
	}
	return mine, nil
}

func (s *server) listParked(c *call) error {
	list, err := s.parked(c)
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, ParkedList{Parked: list})
}

func (s *server) redeliver(c *call) error {
	if err := s.mayOperate(c, operated{action: "redeliver", kind: "Parked", name: c.PathValue("id")}); err != nil {
		return err
	}
	list, err := s.parked(c)
	if err != nil {
		return err
	}
	id := c.PathValue("id")
	for i := range list {
		if list[i].ID != id {
			continue
		}
		err := s.o.Parking.Redeliver(c.Context(), list[i])
		if errors.Is(err, journal.ErrRefused) {
			return fail(http.StatusUnprocessableEntity, events.Diagnostic{
				Code: events.CodeInputInvalid, Message: "the parked message is on no subject of a service, so no service can have it again",
				Action: "nothing depends on it; find out who may write to the streams",
			})
		}
		if err != nil {
			return err
		}
		return c.reply(http.StatusAccepted, list[i])
	}
	return notFound(events.CodeNotFound, "nothing is parked under this ID", "see mandate parked")
}

package api

import "example.org/mandate/events"

// CloudEvent is a recorded event in the JSON format of CloudEvents 1.0, as the
// streams of events deliver it.
type CloudEvent = events.CloudEvent

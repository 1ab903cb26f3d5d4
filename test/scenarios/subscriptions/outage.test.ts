import { tell } from './story.ts'

/** An outage of portal and receiver, in the middle of which a notification is lost. */
const outage = (half: string) => `
  schedules: handle, 8 × 3 h, refuse portal, refuse receiver, ${half}, lose a, ${half}, portal up, 3 × 1 h, handled a, 12 × 6 h,
  handled a, inbox a+, parked 0`

tell({
  'notifications lost in an outage of 20 hours are recovered once, automatically': outage('10 × 1 h'),
  'notifications lost in an outage of 70 hours are recovered once, automatically': outage('35 × 1 h'),
  'notifications lost in an outage of two weeks are recovered by a host that runs a few times a day':
    outage('28 × 6 h'),
  // The daily readings ask about them too.
  'a starting process reads the failures since the last event, once per downtime': `
    schedules: stop, lose a, 1 d, lose b, 1 d, start, run 1 min, asked about 20 21 22 20 21 22, inbox a+ b+,
    hastened downtime=3, run 1 min, settle, asked 6`,
})

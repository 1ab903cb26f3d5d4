import { expect, test } from 'vitest'
import { brasiliaDay, formatBrasilia, parseBrasilia, parseIso, readInstant } from '../../src/vocabulary/brasilia.ts'

test.each([
  ['20-11-2026 09:00:00', '2026-11-20T12:00:00.000Z', 'today, three hours behind'],
  ['15-12-2018 09:00:00', '2018-12-15T11:00:00.000Z', 'when there was daylight saving time'],
  ['31-12-2026 23:59:59', '2027-01-01T02:59:59.000Z', 'the end of the year'],
])('%s is %s: %s', (text, instant) => {
  expect(parseBrasilia(text)).toBe(instant)
  expect(formatBrasilia(Date.parse(instant))).toBe(text)
})

const others = ['2026-11-20 09:00:00', '20-11-2026', '99-99-2026 09:00:00', '31-04-2026 09:00:00', '']
test.each(others)('%s is not a time of the portal', text => expect(parseBrasilia(text)).toBeNull())

test.each([
  ['2026-11-20T12:00:00Z', '2026-11-20T12:00:00.000Z'],
  ['2026-11-20T12:00:00.123456Z', '2026-11-20T12:00:00.123Z'],
  ['2026-11-20T09:00:00-03:00', '2026-11-20T12:00:00.000Z'],
  ['2026-11-20T09:00:00-0300', '2026-11-20T12:00:00.000Z'],
  ['2026-11-20T09:00:00-03', '2026-11-20T12:00:00.000Z'],
  ['2026-11-20T09:00-03', '2026-11-20T12:00:00.000Z'],
  ['2026-11-20t12:00:00.5z', '2026-11-20T12:00:00.500Z'],
  ['2026-11-20T09:00:00', '2026-11-20T12:00:00.000Z'],
  ['9999-12-31T23:59:59', '9999-12-31T23:59:59.999Z'], // "never", as Java writes it: no instant has five digits of a year
  ['9999-12-31T23:59:59-03:00', '9999-12-31T23:59:59.999Z'],
  ['9999-12-31T20:53:59', '9999-12-31T23:53:59.000Z'],
  ['0001-01-01T00:00:00', '0001-01-01T03:06:28.000Z'], // the first date that other runtimes know
  ['0000-01-01T00:00:00', '0000-01-01T03:06:28.000Z'],
  ['0000-01-01T00:00:00+03:00', null],
  ['2026-02-30T00:00:00Z', null], // no such day: not 2 March
  ['2026-02-30T00:00:00', null],
  ['2026-11-31T10:00:00-0300', null],
  ['2027-02-29T00:00:00Z', null],
  ['2028-02-29T00:00:00Z', '2028-02-29T00:00:00.000Z'],
  ['2026-11-20', null],
  ['ontem', null],
])('%s is parsed as %s', (text, instant) => {
  expect(parseIso(text)).toBe(instant)
})

test('every hour has the offset of the runtime, also around changes of the clocks', () => {
  const hour = new Intl.DateTimeFormat('en-GB', {
    ...{ timeZone: 'America/Sao_Paulo', hourCycle: 'h23', dateStyle: 'short', timeStyle: 'medium' },
  })
  const toPortal = (shown: string) => shown.replaceAll('/', '-').replace(', ', ' ')
  let changes = 0
  let before = 0
  for (const first of ['1913-12-25', '2017-10-10', '2018-02-10', '2018-11-01', '2019-02-10', '2026-11-01']) {
    const start = Date.parse(`${first}T00:00:00Z`)
    for (let ms = start; ms < start + 20 * 86_400_000; ms += 1_799_000) {
      const shown = formatBrasilia(ms)
      expect(shown).toBe(toPortal(hour.format(ms)))
      const ahead = Date.parse(shown.replace(/(..)-(..)-(....) (.*)/, '$3-$2-$1T$4Z')) - ms
      if (before !== 0 && ahead !== before) changes += 1
      before = ahead
    }
  }
  expect(changes).toBeGreaterThanOrEqual(5)
})

test('a day changes at midnight in Brasilia', () => {
  expect(brasiliaDay(Date.parse('2026-11-21T02:59:59Z'))).toBe('2026-11-20')
  expect(brasiliaDay(Date.parse('2026-11-21T03:00:00Z'))).toBe('2026-11-21')
})

test.each([
  ['2026-01-31', '2026-01-31T03:00:00.000Z'],
  ['31/01/2026', '2026-01-31T03:00:00.000Z'],
  ['2026-01-31 09:00', '2026-01-31T12:00:00.000Z'],
  ['31/01/2026 09:00:30', '2026-01-31T12:00:30.000Z'],
  ['31/01/2026, 09:00', '2026-01-31T12:00:00.000Z'],
  ['2026-01-31T09:00:00Z', '2026-01-31T09:00:00.000Z'],
])('a person may enter %s', (entered, at) => expect(readInstant(entered)).toBe(at))

test.each(['30/02/2026', '2026-01-31 9', '31-01-2026 09:00', 'now', ''])('%s is no instant', entered =>
  expect(() => readInstant(entered)).toThrow('neither a day nor an instant'),
)

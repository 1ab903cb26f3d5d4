import { expect, test } from 'vitest'
import { readConsent } from '../../../src/adapters/consent/protocol.ts'
import { contradiction, type HistoryEntry, statusBy } from '../../../src/machines/consent/status.ts'

const dates = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z', '']
const statuses = ['PENDENTE', 'ATIVO', 'REVOGADO', 'OUTRO']
const entries = dates.flatMap(dataHora => statuses.map(status => ({ status, dataHora })))

type Told = (typeof entries)[number]
const longer = (all: readonly (readonly Told[])[]) => all.flatMap(each => entries.map(entry => [...each, entry]))
const [one, two] = [longer([[]]), longer(longer([[]]))]
/** Every history of up to three entries. */
const histories = [...one, ...two, ...longer(two)]

/** Parses a history as the client does. */
function read(historico: readonly object[], status: string): readonly HistoryEntry[] {
  const found = readConsent(JSON.stringify({ id: 'a', status, historico }), { cpf: '1', id: 'a' })
  return found?.history ?? []
}

test('contradiction() and statusBy() agree about an ATIVO for every history of up to three entries', () => {
  const at = '2026-06-01T00:00:00.000Z'
  for (const historico of histories) {
    const history = { history: read(historico, 'ATIVO'), historyStatus: 'ATIVO' } as const
    const stands = contradiction({ ...history, status: 'ATIVO' }) === undefined
    const later = statusBy(history, at)
    expect(later === undefined || later === 'ATIVO', JSON.stringify(historico)).toBe(stands)
  }
  expect(histories).toHaveLength(12 + 144 + 1_728)
})

test('of the entries with the newest time, the shown end comes last in any order', () => {
  const [older = '', newer = ''] = dates
  for (const ends of [
    ['ATIVO', 'REVOGADO'],
    ['REVOGADO', 'ATIVO'],
  ]) {
    const newest = ends.map(status => ({ status, dataHora: newer }))
    const first = { status: 'PENDENTE', dataHora: older }
    expect(read([...newest, first], 'REVOGADO').at(-1)?.status).toBe('REVOGADO')
    expect(read([first, ...newest], 'REVOGADO').at(-1)?.status).toBe('REVOGADO')
  }
})

import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { printStyled } from '../../src/cli/output.ts'
import { formatTable } from '../../src/cli/table.ts'

const headings = ['ID', 'STATE', 'WHY']
const rows = [
  { cells: ['call-1', 'parked', 'the service answered 429; given up after 24 hours'], style: 'red' as const },
  { cells: ['call-22', 'due', ''] },
]

function linesAt(columns?: number, shown: Parameters<typeof formatTable>[2] = rows): string[] {
  const isTTY = columns !== undefined
  const stdout = Object.assign(new PassThrough(), { isTTY, ...(isTTY && { columns }) })
  return [...formatTable({ stdout }, headings, shown)].map(({ text }) => text)
}

test('a table fits the terminal: its last column is wrapped, or gets lines of its own, and nothing is cut off', () => {
  expect(linesAt()).toEqual([
    'ID       STATE   WHY',
    'call-1   parked  the service answered 429; given up after 24 hours',
    'call-22  due',
  ])
  // A terminal that does not know its size says 0.
  expect(linesAt(0)).toEqual(linesAt(80))
  expect(linesAt(48)).toEqual([
    'ID       STATE   WHY',
    'call-1   parked  the service answered 429; given',
    '                 up after 24 hours',
    'call-22  due',
  ])
  expect(linesAt(36)).toEqual([
    'ID       STATE',
    '  WHY',
    'call-1   parked',
    '  the service answered 429; given up',
    '  after 24 hours',
    'call-22  due',
  ])
})

test('a name that a person copies is not broken where its line has room for it', () => {
  const shown = 'averba show validation-01kc1v7m4d000w3c5y2n8q6r9t'
  const lines = ['ID       STATE', '  WHY', 'order-1  answered', `  ${shown}`]
  expect(linesAt(54, [{ cells: ['order-1', 'answered', shown] }])).toEqual(lines)
  // A column without room begins a line too; what names the row is whole also where no line has room for it.
  const name = `notifications/${'x'.repeat(50)}`
  const narrow = linesAt(48, [{ cells: [name, `https://hooks.exemplo.br/${'x'.repeat(30)}`, 'failing'] }])
  const head = ['ID', '  STATE', '  WHY', name]
  expect(narrow).toEqual([...head, expect.stringMatching(/^ {2}https/), '  xxxxxxxxx', '  failing'])
})

test('a word that fits no line does not move the others, and a list may be long', () => {
  const address = `https://hooks.exemplo.br/${'x'.repeat(60)}`
  const long = Array.from({ length: 100_000 }, () => ({ cells: ['order-1', 'answered', address] }))
  const [heading, ...lines] = linesAt(60, long)
  expect(heading).toBe('ID       STATE     WHY')
  expect(lines).toHaveLength(3 * long.length)
})

test('a style is shown on a terminal only, not with NO_COLOR, and foreign text cannot make one', () => {
  const print = (isTTY: boolean, env: Record<string, string>) => {
    const stdout = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY })
    printStyled({ stdout, env }, { text: 'parked \u001b[32m', style: 'red' })
    return stdout.read()
  }
  expect(print(true, {}).startsWith('\u001b[31mparked ')).toBe(true)
  expect(print(true, {})).not.toContain('\u001b[32m')
  for (const [isTTY, env] of [
    [false, {}],
    [true, { NO_COLOR: '1' }],
    [true, { TERM: 'dumb' }],
  ] as const)
    expect(print(isTTY, env)).toMatch(/^parked /)
})

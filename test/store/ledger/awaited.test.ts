import { expect, test } from 'vitest'
import { hasPendingHandler } from '../../../src/store/ledger/followers.ts'

test('a handler that has not passed a notification is waited for, and that of another event is not', () => {
  const at = (name: string) => [{ name, position: 7 }]
  expect(hasPendingHandler(at('notifications/duex/erp'), 'duex', 8)).toBe(true)
  expect(hasPendingHandler(at('notifications/duex/erp'), 'duex', 7)).toBe(false)
  expect(hasPendingHandler(at('notifications/duex-historico/erp'), 'duex', 8)).toBe(false)
  // An event may be named with a slash, and a handler may not.
  expect(hasPendingHandler(at('notifications/duex/historico/erp'), 'duex', 8)).toBe(false)
  expect(hasPendingHandler(at('notifications/duex/historico/erp'), 'duex/historico', 8)).toBe(true)
  expect(hasPendingHandler(at('erp'), 'duex', 8)).toBe(false)
})

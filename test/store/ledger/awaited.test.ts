import { expect, test } from 'vitest'
import { hasPendingHandler } from '../../../src/store/ledger/follower-table.ts'

test("a handler that has not passed a notification is pending, and another event's handler is not", () => {
  const at = (name: string) => [{ name, position: 7 }]
  expect(hasPendingHandler(at('notifications/duex/erp'), 'duex', 8)).toBe(true)
  expect(hasPendingHandler(at('notifications/duex/erp'), 'duex', 7)).toBe(false)
  expect(hasPendingHandler(at('notifications/duex-historico/erp'), 'duex', 8)).toBe(false)
  // An evento may contain a slash, a handler's name may not.
  expect(hasPendingHandler(at('notifications/duex/historico/erp'), 'duex', 8)).toBe(false)
  expect(hasPendingHandler(at('notifications/duex/historico/erp'), 'duex/historico', 8)).toBe(true)
  expect(hasPendingHandler(at('erp'), 'duex', 8)).toBe(false)
})

import { describe, expect, test } from 'vitest'
import { operations } from '../openapi/described.ts'
import type { Open } from './ground.ts'

/** That all which passed in the suite was held against docs/openapi: to be called after the other contracts. */
export function documentsContract(name: string, { watch }: Open): void {
  describe(`the documents of docs/openapi ${name}`, () => {
    const ids = operations.map(({ operation }) => operation.operationId)

    test('every answer and every notification of the suite is as the documents say', () => {
      expect(watch.wrongs).toEqual([])
    })

    test('each of the fourteen operations was seen to succeed and to fail, and notifications were seen', () => {
      expect(new Set(ids).size).toBe(14)
      for (const id of ids) {
        expect(watch.answers.get(`${id} 200`), id).toBeGreaterThan(2)
        expect(watch.answers.get(`${id} 401`), id).toBeGreaterThan(0)
      }
      expect([...watch.answers.values()].reduce((a, b) => a + b)).toBeGreaterThan(250)
      expect(watch.notifications).toBeGreaterThan(20)
    })

    test('the documents name no status that the services do not answer', () => {
      const named = operations.flatMap(({ operation }) =>
        Object.keys(operation.responses).map(status => `${operation.operationId} ${status}`),
      )
      // 403 and 409 need other policies than the suite's: test/openapi/policies.test.ts has them. Of inner faults,
      // a list and a login state are enough.
      const seenElsewhere = / (403|409|500)$/
      expect(named.filter(each => !watch.answers.has(each) && !seenElsewhere.test(each))).toEqual([])
    })
  })
}

import { expect, test } from 'vitest'
import { documents } from '../../openapi/documents.ts'
import { operations } from '../openapi/described.ts'
import { watch } from './opened-services.ts'

/** Checks that everything exchanged in the suite matches docs/openapi. Call it after the other contracts. */
export function documentsContract(): void {
  const ids = operations.map(({ operation }) => operation.operationId)

  test('every answer and every notification of the suite matches the documents', () => {
    expect(watch.violations).toEqual([])
  })

  test('the suite has a success and a failure of each operation, and notifications', () => {
    expect(new Set(ids).size).toBe(14)
    for (const id of ids) {
      expect(watch.answers.get(`${id} 200`), id).toBeGreaterThan(2)
      expect(watch.answers.get(`${id} 401`), id).toBeGreaterThan(0)
    }
    expect([...watch.answers.values()].reduce((a, b) => a + b)).toBeGreaterThan(250)
    expect(watch.notifications).toBeGreaterThan(20)
  })

  test('the services answer every status that the documents name', () => {
    const named = operations.flatMap(({ operation }) =>
      Object.keys(operation.responses).map(status => `${operation.operationId} ${status}`),
    )
    expect(named.filter(each => !watch.answers.has(each))).toEqual([])
  })

  test.each(Object.entries(documents))('%s shows the first exchanges of the suite', async (name, document) => {
    await expect(watch.examples.write(document)).toMatchFileSnapshot(`../../docs/openapi/${name}`)
  })
}

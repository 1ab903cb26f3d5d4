import { expect } from 'vitest'

/** Expects that a call is refused with this code, and with more of an error. */
export async function refuses(code: string, call: Promise<unknown>, more: object = {}): Promise<void> {
  await expect(call).rejects.toMatchObject({ code, ...more })
}

import { expect } from 'vitest'
import type { Averba } from '../../src/index.ts'
import { type Views, views } from '../../src/views/views.ts'

/** Checks that the views, folded anew from the log, are as they were kept: a fifth of the work of a rebuild. */
export async function expectViewsAsKept(averba: Averba): Promise<void> {
  const { position } = await averba.figures()
  const names = views.map(({ name }) => name as keyof Views) // They are the views of this type.
  for (const name of names) {
    const kept = await averba.views.selectFrom(name).selectAll().execute()
    const folded = await averba.viewAsOf(name, { position })
    expect(new Set(kept), name).toEqual(new Set(folded))
    expect(kept).toHaveLength(folded.length)
  }
}

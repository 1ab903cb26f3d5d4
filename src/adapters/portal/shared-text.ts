export interface SharedText {
  find(): Promise<string | undefined>
  /** Replaces the text by what `make` returns, if anything. Calls it again if another process was faster. */
  change(make: (text: string | undefined) => Promise<string | undefined>): Promise<unknown>
}

export function shareInMemory(): SharedText {
  let kept: string | undefined
  return {
    find: async () => kept,
    async change(make) {
      kept = (await make(kept)) ?? kept
    },
  }
}

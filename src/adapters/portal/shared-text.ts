/** A sealed text that the processes of one store share. */
export interface SharedText {
  find(): Promise<string | undefined>
  /**
   * Replaces the text by what `make` returns, unless that is `undefined`. `make` is called again if another process
   * changed the text first.
   */
  change(make: (text: string | undefined) => Promise<string | undefined>): Promise<unknown>
}

/** A text that is only shared within this process. */
export function shareInMemory(): SharedText {
  let kept: string | undefined
  return {
    find: async () => kept,
    async change(make) {
      kept = (await make(kept)) ?? kept
    },
  }
}

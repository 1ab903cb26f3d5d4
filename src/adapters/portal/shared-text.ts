/** A text that the processes of one store share, sealed. */
export interface SharedText {
  find(): Promise<string | undefined>
  /**
   * Replaces it by what the function makes of it, unless that is `undefined`; called again where another process was
   * faster.
   */
  change(make: (text: string | undefined) => Promise<string | undefined>): Promise<unknown>
}

/** What is shared in this process alone. */
export function shareInMemory(): SharedText {
  let kept: string | undefined
  return {
    find: async () => kept,
    async change(make) {
      kept = (await make(kept)) ?? kept
    },
  }
}

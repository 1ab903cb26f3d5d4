import { Writable } from 'node:stream'

export class Written extends Writable {
  text = ''
  #isOver = false
  #wake = Promise.withResolvers<void>()

  override _write(chunk: Buffer, _: unknown, done: () => void): void {
    this.text += chunk.toString()
    this.#notify()
    done()
  }

  get next(): Promise<void> {
    return this.#wake.promise
  }

  lines(): readonly string[] {
    return this.text.split('\n').slice(0, -1)
  }

  /** The first line that contains a text, now or later. Rejects when the command ends without one. */
  async line(text: string, errors: Written): Promise<string> {
    for (;;) {
      const found = this.lines().find(line => line.includes(text))
      if (found !== undefined) return found
      if (this.#isOver) throw new Error(`The command ended without "${text}": ${this.text}${errors.text}`)
      await this.next
    }
  }

  /** Resolves when so many lines were written, or nothing more is. */
  async untilLines(count: number): Promise<void> {
    while (!this.#isOver && this.lines().length < count) await this.next
  }

  /** Says that nothing more is written. */
  finish(): void {
    this.#isOver = true
    this.#notify()
  }

  #notify(): void {
    this.#wake.resolve()
    this.#wake = Promise.withResolvers()
  }
}

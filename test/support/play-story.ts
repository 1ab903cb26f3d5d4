/** What a step of a story is written like, and what it does with the words that its form captures. */
export type StoryStep = readonly [form: RegExp, take: (...words: string[]) => unknown]

/** Plays a story, whose steps are separated by commas. An error begins with the step that threw it. */
export async function playStory(steps: readonly StoryStep[], story: string): Promise<void> {
  for (const each of story.trim().split(/,\s+/)) {
    const [form, take] = steps.find(([form]) => form.test(each)) ?? []
    if (!form || !take) throw new TypeError(`A story has no step "${each}"`)
    try {
      await take(...(form.exec(each)?.slice(1) ?? []))
    } catch (error) {
      if (error instanceof Error) error.message = `${each}: ${error.message}`
      throw error
    }
  }
}

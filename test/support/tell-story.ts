import { test } from 'vitest'
import type { Averba } from '../../src/index.ts'
import type { VirtualClock } from '../../src/simulation/index.ts'
import { dayMs, hourMs, minuteMs, passTime } from './pass-time.ts'

/** What a step of a story is written like, and what it does with the words that its form captures. */
export type StoryStep = readonly [form: RegExp, take: (...words: string[]) => unknown]

/** What each step of a story does, by how it begins, with the words that follow: any number after `...`. */
export type StorySteps = Readonly<Record<string, (...words: string[]) => unknown>>

interface Told {
  /** The process that does what is due. */
  readonly averba: Pick<Averba, 'settle'>
  readonly clock: Pick<VirtualClock, 'advance' | 'jump'>
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, min: minuteMs, h: hourMs, d: dayMs }
export const toMs = (n: unknown, unit = ''): number => Number(n) * (units[unit] ?? Number.NaN)

/**
 * Tells a story: steps that are separated by commas. An error begins with the step that threw it. Besides its own steps
 * each story has these:
 *
 * | step | meaning |
 * | --- | --- |
 * | `2 min` | time passes |
 * | `30 × 1 d` | time passes as often, and each time all that is due is done |
 * | `30 × (lose; 1 d)` | steps, as often |
 * | `clock +2 d`, `clock -2 d` | the clock is set |
 */
export function tellStory(told: Told, steps: StorySteps, story: string): Promise<void> {
  return tellInForms(told, toForms(steps), story)
}

/** The same with steps of any form. */
export function tellInForms(told: Told, steps: readonly StoryStep[], story: string): Promise<void> {
  const forms: StoryStep[] = [
    [/^(\d+) × \((.+)\)$/, (times, part) => repeat(Number(times), () => tellInForms(told, steps, toStory(part)))],
    [/^(\d+) × (\d+) (s|min|h|d)$/, (times, n, unit) => passTime(told, toMs(n, unit), Number(times))],
    [/^clock ([+-]?\d+) (s|min|h|d)$/, (n, unit) => told.clock.jump(toMs(n, unit))],
    [/^(\d+) (ms|s|min|h|d)$/, (n, unit) => told.clock.advance(toMs(n, unit))],
  ]
  return playStory([...forms, ...steps], story)
}

/** Plays a story, whose steps are separated by commas. An error begins with the step that threw it. */
async function playStory(steps: readonly StoryStep[], story: string): Promise<void> {
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

/** The longest name is meant. */
function toForms(steps: StorySteps): StoryStep[] {
  const own = Object.entries(steps).sort(([one], [other]) => other.length - one.length)
  return own.map(([form, take]) => {
    const name = form.replace(/ \.{3}$/, '')
    const max = name === form ? take.length : Number.POSITIVE_INFINITY
    const takeWords = (text = '') => {
      const words = text.split(' ').filter(Boolean)
      if (words.length > max) throw new TypeError(`It takes ${max} words`)
      return take(...words)
    }
    return [new RegExp(`^${name}(?: (.+))?$`), takeWords]
  })
}

const toStory = (part = '') => part.replaceAll(';', ',')

async function repeat(times: number, take: () => Promise<void>): Promise<void> {
  for (let time = 0; time < times; time++) await take()
}

/** Registers a test for each story, named by what it shows. */
export function tellEach(stories: Readonly<Record<string, string>>, tell: (story: string) => Promise<void>): void {
  test.each(Object.entries(stories))('%s', (_, story) => tell(story))
}

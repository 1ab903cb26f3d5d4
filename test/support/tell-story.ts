import { test } from 'vitest'
import type { Averba } from '../../src/index.ts'
import type { VirtualClock } from '../../src/simulation/index.ts'
import { dayMs, hourMs, minuteMs, passTime } from './pass-time.ts'

/** What each step of a story does, by how it begins, with the words that follow. */
export type StorySteps = Readonly<Record<string, (...words: string[]) => unknown>>

interface Told {
  /** The process that does what is due. */
  readonly averba: Pick<Averba, 'settle'>
  readonly clock: Pick<VirtualClock, 'advance' | 'jump'>
}

const units: Readonly<Record<string, number>> = { s: 1_000, min: minuteMs, h: hourMs, d: dayMs }
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
export async function tellStory(told: Told, steps: StorySteps, story: string): Promise<void> {
  for (const step of story.split(/,\s+/)) {
    try {
      await play(told, steps, step)
    } catch (error) {
      if (error instanceof Error) error.message = `${step}: ${error.message}`
      throw error
    }
  }
}

async function play(told: Told, steps: StorySteps, step: string): Promise<void> {
  const { times, part, how, n, unit } =
    /^(?:(?<times>\d+) × )?(?:\((?<part>.+)\)|(?<how>clock )?(?<n>[+-]?\d+) (?<unit>s|min|h|d))$/.exec(step)?.groups ??
    {}
  if (part) for (let time = 0; time < Number(times); time++) await tellStory(told, steps, part.replaceAll(';', ','))
  else if (how) told.clock.jump(toMs(n, unit))
  else if (times) await passTime(told, toMs(n, unit), Number(times))
  else if (unit) await told.clock.advance(toMs(n, unit))
  else {
    const [name = ''] = Object.keys(steps)
      .filter(each => `${step} `.startsWith(`${each} `))
      .sort((a, b) => b.length - a.length)
    const take = steps[name]
    if (!take) throw new TypeError('A story has no such step')
    await take(...step.slice(name.length).split(' ').filter(Boolean))
  }
}

/** Registers a test for each story, named by what it shows. */
export function tellEach(
  stories: readonly (readonly [shows: string, story: string])[],
  tell: (story: string) => Promise<void>,
): void {
  test.each(stories)('%s', (_, story) => tell(story))
}

import { cpSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Findings, isAnythingIn } from './findings.ts'

/** The name of the database in every folder of a campaign. */
export const logName = 'log.sqlite'

/** A folder of a campaign's own, in which each try has one again. */
export class Scratch {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), 'averba-broken-')))
  #count = 0

  /** Makes a folder, with the files of a log as they are in another folder if one is given. */
  folder(like?: string): string {
    this.#count += 1
    const folder = join(this.path, String(this.#count))
    mkdirSync(folder)
    for (const name of like ? readdirSync(like) : []) {
      if (name.startsWith(logName)) cpSync(join(like ?? '', name), join(folder, name))
    }
    return folder
  }

  /** Ends a campaign: the folders in which something was wrong stay, for whoever looks into it. */
  end(findings: Findings): string[] {
    if (isAnythingIn(findings)) return [`the files are left in ${this.path}`]
    this.remove()
    return []
  }

  /** Removes a folder that is not needed any more, or all. */
  remove(folder: string = this.path): void {
    rmSync(folder, { recursive: true, force: true })
  }
}

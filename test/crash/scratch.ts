import { cpSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Findings, hasFindings } from './findings.ts'

/** The name of the database in every folder of a campaign. */
export const logName = 'log.sqlite'

/** The temporary folder of a campaign, with a subfolder for each try. */
export class Scratch {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), 'averba-broken-')))
  #count = 0

  /** Creates a folder, with a copy of the log of another folder if one is given. */
  folder(like?: string): string {
    this.#count += 1
    const folder = join(this.path, String(this.#count))
    mkdirSync(folder)
    for (const name of like ? readdirSync(like) : []) {
      if (name.startsWith(logName)) cpSync(join(like ?? '', name), join(folder, name))
    }
    return folder
  }

  /** Ends a campaign. Folders with problems are kept. */
  end(findings: Findings): string[] {
    if (hasFindings(findings)) return [`the files are in ${this.path}`]
    this.remove()
    return []
  }

  /** Removes a folder, or all. */
  remove(folder: string = this.path): void {
    rmSync(folder, { recursive: true, force: true })
  }
}

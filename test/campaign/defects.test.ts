import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../support/run-script.ts'

const defects = readdirSync(join(root, 'test/defects')).filter(name => name.endsWith('.patch'))

// `npm run campaign:defects` shows that the campaign finds each. A patch that does not apply would show nothing.
test('every known defect still applies to the source', () => {
  expect(defects.length).toBeGreaterThan(8)
  for (const name of defects)
    execFileSync('git', ['apply', '--check', join('test/defects', name)], { cwd: root, stdio: 'pipe' })
})

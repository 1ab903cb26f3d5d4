import { AverbaError, exportBundle, proveRecorded } from '../../index.ts'
import { defineCommand, exitCodes } from '../command.ts'
import { findLog, sourceOptions, withLog } from '../load-config.ts'
import { writeNewFile } from '../new-file.ts'
import { actor, purpose } from '../options.ts'
import { createProgress } from '../progress.ts'

export const exportCommand = defineCommand({
  usage: 'export',
  description: 'Export a log to a folder that anyone can verify, with averba or only with Python and openssl.',
  options: {
    '--dir <folder>': { text: 'a new folder', isRequired: true },
    ...sourceOptions,
  },
  example: 'averba export --dir evidence',
  notes: 'Personal data stays sealed: it cannot be read without the keyring.\nExit codes: 0 done, 1 not done.',
  async run(terminal, { dir, ...source }) {
    const progress = createProgress(terminal)
    const onProgress = (done: number, end: number) => progress('export', done, end)
    const result = await exportBundle({ ...(await findLog(source)), dir, onProgress })
    const { origin, events, parts } = result
    const { say } = terminal
    const lines = [
      say`${dir}: ${say.count(events, 'event')} and ${say.count(parts, 'sealed part')} of ${origin}.`,
      say`Its README says how to verify it. Also hand over its file "key" by another channel.`,
    ]
    return { result, lines }
  },
})

export const proveCommand = defineCommand({
  usage: 'prove <event>',
  description: 'Write the proof that one event is in the log: a C2SP tlog-proof, with the event in it.',
  arguments: ['its position, or its id as <stream>/<version>'],
  options: {
    '--out <file>': 'a new file to write it to; by default standard output',
    '--disclose': 'add the sealed parts, and the keys that open only the parts of this event',
    '--actor <ref>': actor,
    '--purpose <text>': purpose,
    ...sourceOptions,
  },
  example: 'averba prove 42 --out event-42.tlog-proof',
  notes:
    'Verify it with averba verify <file> --key <line>. The file of a disclosure can be read only by you, since it ' +
    'opens personal data; the log records who disclosed it and for what purpose.\nExit codes: 0 done, 1 not done.',
  async run(terminal, { out, disclose, json, actor: ref, purpose: reason, ...source }, which) {
    const event = /^\d{1,15}$/.test(which) ? Number(which) : which
    const make = async () => {
      if (!disclose) return proveRecorded({ ...(await findLog(source)), event })
      const missing = ref === undefined ? '--actor' : '--purpose'
      if (ref === undefined || reason === undefined)
        throw new AverbaError('INVALID_INPUT', `Cannot disclose the event: ${missing} is missing`)
      return withLog(terminal, source, ({ audit }) =>
        audit.disclose(event, { actor: { kind: 'person', ref }, purpose: reason }),
      )
    }
    // The log must not record a disclosure that then cannot be written.
    const proof = await (out === undefined ? make() : writeNewFile(out, disclose ? 0o600 : 0o666, make))
    const { say } = terminal
    const what = disclose ? 'disclosure' : 'proof'
    const result = { event: which, [what]: proof, ...(out !== undefined && { file: out }) }
    // Its bytes are what is verified: none is made printable.
    if (out === undefined && !json) {
      terminal.stdout.write(proof)
      return exitCodes.done
    }
    return { result, lines: [disclose ? say`${out}: the disclosure of ${which}` : say`${out}: the proof of ${which}`] }
  },
})

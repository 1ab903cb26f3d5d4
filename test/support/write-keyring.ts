import { writeFileSync } from 'node:fs'
import { macKey } from '../../src/vault/keyring.ts'
import { authenticate, type KeyringFile } from '../../src/vault/keyring-file.ts'

/** Writes a keyring file that holds its root key, as somebody who has it could. */
export function writeKeyring(path: string, file: KeyringFile): void {
  writeFileSync(path, JSON.stringify(authenticate(file, macKey(Buffer.from(file.root ?? '', 'base64')))))
}

import { createSecretKey } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { decrypt } from '../../src/vault/cryptography.ts'
import { macKey, secretName } from '../../src/vault/keyring.ts'
import { authenticate, type StoredKeys } from '../../src/vault/stored-keys.ts'

/** Writes a keyring file that holds its root key, as somebody who has it could. */
export function writeKeyring(path: string, file: StoredKeys): void {
  const root = createSecretKey(Buffer.from(file.root ?? '', 'base64'))
  const secret = decrypt(root, Buffer.from(file.secret, 'base64'), secretName)
  writeFileSync(path, JSON.stringify(authenticate(file, macKey(secret))))
}

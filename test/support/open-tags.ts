import { systemEntropy } from '../../src/runtime/entropy.ts'
import { Tags } from '../../src/store/log/tags.ts'
import { openKeyring } from '../../src/vault/keyring.ts'
import { KeyringFile } from '../../src/vault/keyring-file.ts'

/** Makes tags with the keyring beside a store, as another version of averba could. */
export async function openTags(store: string): Promise<Tags> {
  return new Tags(await openKeyring(new KeyringFile(`${store}.keys`, systemEntropy), systemEntropy))
}

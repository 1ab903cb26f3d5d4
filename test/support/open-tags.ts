import { systemEntropy } from '../../src/runtime/entropy.ts'
import { Tags } from '../../src/store/log/tags.ts'
import { openKeyringFile } from '../../src/vault/keyring.ts'

/** Makes tags with the keyring beside a store, as another version of averba could. */
export async function openTags(store: string): Promise<Tags> {
  return new Tags(await openKeyringFile(`${store}.keys`, systemEntropy))
}

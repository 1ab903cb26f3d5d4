import { systemEntropy } from '../../src/runtime/entropy.ts'
import { createKeyring } from '../../src/vault/keyring.ts'

export const newSigner = () => createKeyring(systemEntropy).signer

import { hash } from 'node:crypto'
import { type Certificate, checkCertificate, readLeafCertificate } from '../credentials/certificate.ts'
import { type SecretSource, type Source, secretFrom, valueFrom } from '../credentials/secret.ts'
import { trimEndSlashes } from '../http/answer-body.ts'

/** How to log in at the portal. Not in the contract; see docs/unspecified.md. */
export interface PortalLogin {
  /** Called before each call: identifies who would log in, without secrets. Another text means another session. */
  identity(): Promise<string>
  /** The profile to log in for. The portal allows one login a minute for it, whoever logs in. */
  readonly roleType: string
  /** The client certificate of every connection to the portal, if the login uses one. */
  readonly certificate?: Source<Certificate>
  write(baseUrl: string): Promise<Request>
}

/**
 * Logs in at the portal with a certificate of a person or a company (e-CPF, e-CNPJ), for a profile such as `IMPEXP`.
 * One session serves all processes of a store. Not in the contract; see docs/unspecified.md.
 */
export function portalSession(options: { certificate: Source<Certificate>; roleType: string }): PortalLogin {
  const { certificate, roleType } = options
  const identify = (digest: string) => `${roleType}\0certificate\0${digest}`
  let cached = { digest: '', leaf: '' }
  return {
    certificate,
    roleType,
    async identity() {
      const given = await valueFrom(certificate, 'certificate of the portal')
      checkCertificate(given, 'Cannot use the client certificate')
      const digest = hash('sha256', 'pfx' in given ? given.pfx : given.cert, 'hex')
      // A PKCS#12 file is slow to open, and its bytes differ each time it is exported.
      if (cached.digest !== digest) {
        const leaf = await readLeafCertificate(given)
        // The connection reports an unreadable certificate. Its passphrase may be corrected later.
        if (!leaf) return identify(digest)
        cached = { digest, leaf: hash('sha256', leaf, 'hex') }
      }
      return identify(cached.leaf)
    },
    write: async baseUrl => loginRequest(baseUrl, '', { 'role-type': roleType }),
  }
}

/**
 * Logs in at the portal with access keys, for a profile. One session serves all processes of a store. Not in the
 * contract; see docs/unspecified.md.
 */
export function portalAccessKeys(options: {
  clientId: SecretSource
  clientSecret: SecretSource
  roleType: string
}): PortalLogin {
  return {
    roleType: options.roleType,
    async identity() {
      const clientId = await secretFrom(options.clientId, 'clientId of the portal')
      return `${options.roleType}\0keys\0${hash('sha256', clientId, 'hex')}`
    },
    async write(baseUrl) {
      return loginRequest(baseUrl, '/chave-acesso', {
        'client-id': await secretFrom(options.clientId, 'clientId of the portal'),
        'client-secret': await secretFrom(options.clientSecret, 'clientSecret of the portal'),
        'role-type': options.roleType,
      })
    },
  }
}

function loginRequest(baseUrl: string, path: string, headers: Record<string, string>): Request {
  const url = `${trimEndSlashes(baseUrl)}/portal/api/autenticar${path}`
  // No redirect is followed: a host's own `fetch` would send the credentials elsewhere.
  return new Request(url, { method: 'POST', redirect: 'manual', headers: { ...headers, accept: 'application/json' } })
}

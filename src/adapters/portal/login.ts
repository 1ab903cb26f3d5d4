import { hash } from 'node:crypto'
import { type Certificate, leafOf } from '../credentials/certificate.ts'
import { type SecretSource, secretFrom } from '../credentials/secret.ts'
import { type Source, valueFrom } from '../credentials/source.ts'
import { withoutEndSlashes } from '../http/listing.ts'

/**
 * How a session at the portal is begun. Written from what is publicly known of the portal, not from its contract,
 * which shows no authentication.
 */
export interface PortalLogin {
  /**
   * Says before each call who would log in and as what, in a text of any form that holds no secret: another text is
   * another session.
   */
  identity(): Promise<string>
  /** The profile to log in for: whoever logs in, the portal is asked for it once a minute. */
  readonly roleType: string
  /** Presented in every connection to the portal, where the login goes by it. */
  readonly certificate?: Source<Certificate>
  /** The request that logs in. */
  write(baseUrl: string): Promise<Request>
}

/**
 * Logs in at the portal with a certificate of a person or a company (e-CPF, e-CNPJ), for a profile such as `IMPEXP`.
 * One session serves all processes of one store. Publicly known, and not in the contract.
 */
export function portalSession(options: { certificate: Source<Certificate>; roleType: string }): PortalLogin {
  const { certificate, roleType } = options
  const identify = (digest: string) => `${roleType}\0certificate\0${digest}`
  let known = { shown: '', leaf: '' }
  return {
    certificate,
    roleType,
    async identity() {
      const given = await valueFrom(certificate, 'certificate of the portal')
      const shown = hash('sha256', 'pfx' in given ? given.pfx : given.cert, 'hex')
      // A PKCS#12 takes long to open, and has other bytes each time that it is exported.
      if (known.shown !== shown) {
        const leaf = await leafOf(given)
        // What cannot be read is for the way out to tell of, or is read by the host's own; its passphrase may come yet.
        if (!leaf) return identify(shown)
        known = { shown, leaf: hash('sha256', leaf, 'hex') }
      }
      return identify(known.leaf)
    },
    write: async baseUrl => post(baseUrl, '', { 'role-type': roleType }),
  }
}

/**
 * Logs in at the portal with access keys in place of a certificate, for a profile. One session serves all processes of
 * one store. Publicly known, and not in the contract.
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
      return post(baseUrl, '/chave-acesso', {
        'client-id': await secretFrom(options.clientId, 'clientId of the portal'),
        'client-secret': await secretFrom(options.clientSecret, 'clientSecret of the portal'),
        'role-type': options.roleType,
      })
    },
  }
}

function post(baseUrl: string, path: string, headers: Record<string, string>): Request {
  const url = `${withoutEndSlashes(baseUrl)}/portal/api/autenticar${path}`
  // No redirect is followed: a host's own way out would take the credentials elsewhere.
  return new Request(url, {
    method: 'POST',
    redirect: 'manual',
    headers: { ...headers, accept: 'application/json' },
  })
}

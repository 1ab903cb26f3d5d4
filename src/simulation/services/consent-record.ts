/** The default purpose of consents and awareness records. */
export const samplePurpose = {
  identificador: 'CREDITO',
  descricao: 'Análise de crédito a pedido do titular',
  rotulo: 'Análise de crédito',
}

/** Their default data category. */
export const sampleCategory = {
  identificador: 'CNH',
  descricao: 'Dados da carteira nacional de habilitação',
  rotulo: 'CNH',
  metadados: [
    { identificador: 'nome', descricao: 'Nome completo', rotulo: 'Nome', sensivel: false },
    { identificador: 'biometria', descricao: 'Biometria facial', rotulo: 'Face', sensivel: true },
  ],
}

/** Creates the data subject of a CPF. */
export function sampleTitular(cpf: string) {
  return { cpf, nome: 'Titular de Exemplo', email: 'titular@exemplo.br' }
}

/** Creates the controller of a CNPJ. */
export function sampleController(cnpj: string) {
  return {
    cnpj,
    nome: 'Controlador de Exemplo S.A.',
    email: 'contato@exemplo.br',
    contato: 'Central de privacidade',
    responsavel: { cpf: '11144477735', cnpj, tipo: 'ENCARREGADO' },
  }
}

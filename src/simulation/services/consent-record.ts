/** What a consent or an awareness record of the simulated service is for, where a test says nothing. */
export const samplePurpose = {
  identificador: 'CREDITO',
  descricao: 'Análise de crédito a pedido do titular',
  rotulo: 'Análise de crédito',
}

/** The data that it is about. */
export const sampleCategory = {
  identificador: 'CNH',
  descricao: 'Dados da carteira nacional de habilitação',
  rotulo: 'CNH',
  metadados: [
    { identificador: 'nome', descricao: 'Nome completo', rotulo: 'Nome', sensivel: false },
    { identificador: 'biometria', descricao: 'Biometria facial', rotulo: 'Face', sensivel: true },
  ],
}

/** The data subject of a CPF. */
export function titularOf(cpf: string) {
  return { cpf, nome: 'Titular de Exemplo', email: 'titular@exemplo.br' }
}

/** The controller of a CNPJ. */
export function controllerOf(cnpj: string) {
  return {
    cnpj,
    nome: 'Controlador de Exemplo S.A.',
    email: 'contato@exemplo.br',
    contato: 'Central de privacidade',
    responsavel: { cpf: '11144477735', cnpj, tipo: 'ENCARREGADO' },
  }
}

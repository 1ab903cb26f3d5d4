/** What the machines and their states mean, in Portuguese: the console shows it in their charts. */
export const stateMeanings: Readonly<Record<string, string>> = {
  'It takes every event.': 'Aceita todos os eventos.',

  'A call that an event requested, beside its outcome.': 'Uma chamada que um evento pediu, além do seu resultado.',
  'It is attempted when it is due.': 'É tentada quando chega a hora.',
  'It waits for an operator: the policy gave up, or an operator parked it.':
    'Espera por um operador: a política desistiu, ou um operador a suspendeu.',
  'It did nothing and never will: it was given up, or another command replaces it.':
    'Não fez nada e nunca fará: foi abandonada, ou outro comando a substitui.',

  'A certificate of ours, and the warnings before it expires.': 'Um certificado nosso, e os avisos antes que expire.',
  'More than 30 days are left.': 'Restam mais de 30 dias.',
  'It expires soon: a warning was recorded at 30, 14, 7, 3 or 1 days.':
    'Expira em breve: um aviso foi gravado quando faltavam 30, 14, 7, 3 ou 1 dias.',

  'A notification of the portal, and the handlers of the host that it is for.':
    'Uma notificação do portal, e os tratadores da aplicação a que se destina.',
  'It was not received.': 'Não foi recebida.',
  'Its body is stored, so the portal was told that it arrived.':
    'O corpo está guardado, e por isso o portal soube que chegou.',
  'A handler was not called yet.': 'Um tratador ainda não foi chamado.',
  'A handler failed, and is called again.': 'Um tratador falhou, e é chamado de novo.',
  'Every handler is done, or is not called again.': 'Todos os tratadores terminaram, ou não são mais chamados.',
  'A handler failed too often: a person has to release it.':
    'Um tratador falhou vezes demais: uma pessoa precisa liberá-lo.',

  'One paid validation of a person, sent at most once.': 'Uma validação paga de uma pessoa, enviada no máximo uma vez.',
  'What became of the call.': 'O que foi feito da chamada.',
  'It was not requested.': 'Não foi pedida.',
  'Its call was not answered.': 'A chamada não foi respondida.',
  'The service answered it, or the answer of an earlier one was used.':
    'O serviço a respondeu, ou foi usada a resposta de outra, anterior.',
  'The service refused it, or it was not sent.': 'O serviço a recusou, ou não foi enviada.',
  'The answer was lost: it was perhaps done and charged, and a person decides.':
    'A resposta se perdeu: talvez tenha sido feita e cobrada, e uma pessoa decide.',
  'It is known whether it was charged, but not what the answer was.':
    'Sabe-se se foi cobrada, mas não qual foi a resposta.',
  'Its data subject was erased before an answer came.': 'O titular foi eliminado antes que viesse uma resposta.',
  'Whether it was repeated on purpose.': 'Se foi repetida de propósito.',
  'No other validation repeats it.': 'Nenhuma outra validação a repete.',
  'Another validation repeats it.': 'Outra validação a repete.',

  'The disclosure of personal data to a host, recorded before anything is decrypted.':
    'A revelação de dados pessoais a uma aplicação, gravada antes que algo seja decifrado.',
  'Nothing was disclosed.': 'Nada foi revelado.',
  'It is in the log who received which parts, and why.': 'O registro diz quem recebeu que partes, e por quê.',

  'What persons decided about followers: that a parked one goes on, or that one is removed.':
    'O que pessoas decidiram sobre seguidores: que um suspenso continua, ou que um é removido.',
  'The parts that were destroyed when their retention period ended.':
    'As partes destruídas no fim do seu prazo de guarda.',

  'A data subject: enrolment, readings about the person, and erasure.':
    'Um titular: o cadastro, as leituras sobre a pessoa e a eliminação.',
  'No person is enrolled under this id.': 'Nenhuma pessoa está cadastrada com este identificador.',
  'We know the CPF, and may read about the person.': 'Conhecemos o CPF, e podemos ler sobre a pessoa.',
  'The consents were never read by a schedule.': 'Os consentimentos nunca foram lidos por agendamento.',
  'The consents are read by a schedule.': 'Os consentimentos são lidos por agendamento.',
  'The host ended the schedule, so no default begins another one.':
    'A aplicação encerrou o agendamento, e nenhum padrão começa outro.',
  "The person's data was destroyed.": 'Os dados da pessoa foram destruídos.',
  'The law requires to keep some of it, which may be held, and erased later.':
    'A lei exige guardar uma parte, que pode ser retida, e eliminada depois.',
  'Nothing was kept.': 'Nada foi conservado.',

  'Our account at the portal: readings of its lists of subscriptions and failures.':
    'A nossa conta no portal: as leituras das suas listas de inscrições e de falhas.',

  'A consent request of one data subject, as the consent service keeps it.':
    'Um pedido de consentimento de um titular, como o serviço de consentimento o guarda.',
  'Its status at the service.': 'A situação no serviço.',
  'No reading has shown it.': 'Nenhuma leitura o mostrou.',
  'The service lists it, with one of the five statuses of the contract.':
    'O serviço o lista, com uma das cinco situações do contrato.',
  'The data subject has not decided.': 'O titular não decidiu.',
  'The data subject consents.': 'O titular consente.',
  'The data subject, or we for them, denied it.': 'O titular, ou nós por ele, negou.',
  'It was active, and was revoked.': 'Estava ativo, e foi revogado.',
  'Its date has passed, as the service shows.': 'A data passou, como mostra o serviço.',
  'The service no longer lists it: it cannot be used until it is listed again.':
    'O serviço não o lista mais: não pode ser usado até que volte a ser listado.',
  'Whether readings agree with the known status.': 'Se as leituras concordam com a situação conhecida.',
  'No reading differs.': 'Nenhuma leitura difere.',
  'A reading differs, or the service refused a change that it should allow: it is read in full.':
    'Uma leitura difere, ou o serviço recusou uma alteração que devia permitir: é lido por inteiro.',
  'A change that we requested.': 'Uma alteração que pedimos.',
  'No change of ours is open.': 'Nenhuma alteração nossa está em aberto.',
  'Our change was requested and not answered.': 'A nossa alteração foi pedida e não foi respondida.',
  'The answer to our change was lost: a reading shows what became of it.':
    'A resposta à nossa alteração se perdeu: uma leitura mostra o que foi feito dela.',
  'The answers to our change did not show that it was made: a reading shows what became of it.':
    'As respostas à nossa alteração não mostraram que foi feita: uma leitura mostra o que foi feito dela.',
  'Whether a denial or a revocation was asked for and is still wanted.':
    'Se uma negação ou revogação foi pedida e ainda é desejada.',
  'No end was asked for.': 'Nenhum fim foi pedido.',
  'Its end was asked for, and none has been shown: nothing is used, and it is asked for again.':
    'O fim foi pedido, e nenhum foi mostrado: nada é usado, e é pedido de novo.',
  'Whether a full reading was requested and has not ended.': 'Se uma leitura completa foi pedida e não terminou.',
  'No full reading is open.': 'Nenhuma leitura completa está em aberto.',
  'A full reading was requested.': 'Uma leitura completa foi pedida.',
  'Whether its personal data is kept.': 'Se os dados pessoais são guardados.',
  'Its data subject was not erased.': 'O titular não foi eliminado.',
  'Its data subject was erased: nothing changes it any more.': 'O titular foi eliminado: nada mais o altera.',

  'The bearer token of one credential, which all processes on the store share.':
    'O token de uma credencial, que todos os processos do registro compartilham.',
  'There is no token: none was requested, or a request failed.':
    'Não há token: nenhum foi pedido, ou um pedido falhou.',
  'One process requests a token, and the others wait for it.':
    'Um processo pede um token, e os outros esperam por ele.',
  'A token is in use.': 'Um token está em uso.',
  'A service answered 401 to the token: a newer one is requested.':
    'Um serviço respondeu 401 ao token: é pedido um mais novo.',
  'The gateway returned the rejected token again: the next request waits until it expires.':
    'O gateway devolveu de novo o token rejeitado: o próximo pedido espera até que expire.',
  'The gateway refused the consumer key and secret: only corrected ones are tried.':
    'O gateway recusou a chave e o segredo: só outros, corrigidos, são tentados.',
  'The paid calls of one day, which all processes on the store count together.':
    'As chamadas pagas de um dia, que todos os processos do registro contam juntos.',

  'A subscription of ours to one event at the portal.': 'Uma inscrição nossa em um evento do portal.',
  'Whether the portal has it, and which call of ours is open.':
    'Se o portal a tem, e qual chamada nossa está em aberto.',
  'It was not declared.': 'Não foi declarada.',
  'The host wants it, and the portal has never had it, or no longer.':
    'A aplicação a quer, e o portal nunca a teve, ou não a tem mais.',
  'Its registration was requested.': 'O registro dela foi pedido.',
  'The portal has it, and delivers notifications.': 'O portal a tem, e entrega notificações.',
  'No call of ours is open.': 'Nenhuma chamada nossa está em aberto.',
  'Another endpoint or other secrets were requested.': 'Outro endereço ou outros segredos foram pedidos.',
  'Its deletion was requested.': 'A exclusão foi pedida.',
  'The portal has not answered.': 'O portal não respondeu.',
  'The answer was lost: a list shows what became of it.':
    'A resposta se perdeu: uma lista mostra o que foi feito dela.',
  'The portal had it, and has it no longer.': 'O portal a tinha, e não a tem mais.',
  'We requested the deletion.': 'Nós pedimos a exclusão.',
  'The portal deleted it, by itself or for somebody else.':
    'O portal a excluiu, por conta própria ou a pedido de outra pessoa.',
  'Whether deliveries fail.': 'Se as entregas falham.',
  'No delivery is known to have failed since the last success.':
    'Nenhuma falha de entrega é conhecida desde o último sucesso.',
  'Deliveries fail: after thirty days without a success the portal deletes it.':
    'As entregas falham: depois de trinta dias sem sucesso o portal a exclui.',
  'Whose secrets the portal sends.': 'De quem são os segredos que o portal envia.',
  'The portal sends secrets that we know.': 'O portal envia segredos que conhecemos.',
  'The portal sends secrets that somebody else gave it.': 'O portal envia segredos que outra pessoa lhe deu.',
}

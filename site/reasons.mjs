// Why a block of a page is not run by the tests: ```sh not-run=docker. test/e2e/documentation.test.ts knows the same words.
export const reasons = {
  docker: 'it needs a Docker daemon',
  kubernetes: 'it needs a Kubernetes cluster',
  systemd: 'it changes the services of a machine',
  vendor: 'it needs an account at a vendor or its own client',
  install: 'it installs packages',
  long: 'it runs for minutes; a step of the gate runs it',
  outline: 'it is an outline, not a whole program',
};

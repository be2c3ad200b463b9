export function SuitesView() {
  return <h1>Suites</h1>;
}

export function GalleryView() {
  return <h1>Questions</h1>;
}

"""Models of Qdrant's fastembed: embedders and cross-encoders in onnxruntime, from a hub or a folder."""
